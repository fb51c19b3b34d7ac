#pragma once
// The words of `spile hist`, parsed. They are those of ftrace's hist triggers (https://docs.kernel.org/trace/histogram.html),
// each a word of its own; a whole trigger in one word ("hist:keys=common_pid:vals=count if count > 5") is taken apart.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace spile::verbs {

enum class Shown : uint8_t {
  kPlain,
  kHex,
  kSymbol,
  kSymbolOffset,
  kSystemCall,
  kProgram,
  kLog2,
  kBuckets,
  kMicroseconds,
  kPercent,
  kGraph
};

// A key or a value: "common_pid.execname", "bytes_req.buckets=32".
struct HistField {
  std::string text;  // as written
  std::string name;
  Shown shown = Shown::kPlain;
  int64_t bucket = 0;  // kBuckets
};

struct HistSort {
  std::string name;  // of a key or value
  bool descending = false;
};

struct HistRequest {
  std::vector<std::string> events;                         // one; two for the time between them
  std::vector<std::pair<std::string, std::string>> match;  // fields of the first and of the second event that must be equal
  std::vector<HistField> keys, values;                     // values: without hitcount, unless it is shown in another way
  bool shows_hitcount = true;
  std::vector<HistSort> sort;  // at most two
  int64_t size = 2048;
  std::string max_of;              // onmax(FIELD); empty: absent
  std::vector<std::string> saved;  // .save(FIELD,...)
  std::string filter;              // behind `if`; empty: absent
};

// The names by which ftrace knows the number of hits.
inline constexpr const char* kHitcount = "hitcount";

// Parses the words behind `spile hist`. Errors: a word that is not one of these, a modifier that is not known or not for such a
// place, more keys or sort keys than ftrace takes.
Result<HistRequest> parse_hist(const std::vector<std::string>& words);

}  // namespace spile::verbs
