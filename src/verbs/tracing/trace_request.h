#pragma once
// The words of `spile trace`, parsed.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "verbs/terms/verb_script.h"

namespace spile::verbs {

struct TraceRequest {
  bool in_kernel = false;
  // names and patterns: the roots of trees in the kernel; all functions that are traced in processes
  std::vector<std::string> functions;
  // in the kernel: patterns of functions that are traced below the roots, beside those that the roots call
  std::vector<std::string> also;
  std::vector<std::string> excluded;  // patterns
  bool interrupts = false;            // in the kernel: calls in interrupts, rather than in threads
  int depth = 0;                      // calls of a tree from its root on, the root included
  bool depth_given = false;
  int64_t over_ns = 0;  // trees of root calls that take no longer are not shown
  bool json = false;
  std::string text;  // the words, for the script's first line
};

inline constexpr int kDefaultKernelDepth = 3, kMostDepth = 500;

// Errors: a word that has no meaning, or is missing.
Result<TraceRequest> parse_trace(const VerbLine& line);

}  // namespace spile::verbs
