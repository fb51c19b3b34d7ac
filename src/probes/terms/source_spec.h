#pragma once
// Parses "NAME@FILE:LINE", as function() and statement() have it: NAME and FILE are globs; LINE is 12, 10-20, 3,7-9 or * after
// ':', or a distance from the line that declares the function after '+'. "NAME+BYTES" is an instruction.

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace spile::probes {

struct SourceSpec {
  enum class Lines : uint8_t { kNone, kListed, kAll, kRelative };

  std::string name;  // glob, never empty
  std::string file;  // "": not said
  Lines lines = Lines::kNone;
  std::vector<std::pair<int, int>> ranges;  // kListed, kRelative: first and last line of each
  uint64_t offset = 0;                      // of "f+0x12", without a file: bytes behind the function's entry; 0: not said

  // Whether a line of the function is meant. declared: the line of its declaration, from which kRelative counts.
  bool matches(int line, int declared) const;
};

// Errors: no name, no file after '@', or malformed lines.
Result<SourceSpec> parse_source_spec(const std::string& text);

}  // namespace spile::probes
