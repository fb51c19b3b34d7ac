#pragma once
// POSIX extended regular expressions, as the operators =~ and !~ have them: compiled with the script, matched anywhere in
// a string. Bytes, no locale. Of POSIX's syntax: . [] [^] [[:class:]] () | * + ? {n} {n,} {n,m} ^ $ and \ before a special
// character; also \w \W \s \S \d \D. Not there: references to groups (\1) and collating symbols of many characters.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "regex/mistake.h"

namespace spile::regex {

struct Compiled {
  std::vector<uint8_t> table;    // a Table (program.h); empty: it would be too large, and only the program can match
  std::vector<uint8_t> program;  // a Program; never empty
  uint32_t groups = 1;           // with the whole match
};

// Either the result or the mistake in the pattern.
struct Outcome {
  std::optional<Compiled> compiled;
  Mistake mistake;  // where `compiled` is empty
};
// Compiles a pattern. Mistakes are wrong syntax, more than kMaxGroups groups, and a program of more than
// kMaxInstructions. Keeps no state: any thread may call it.
Outcome compile(std::string_view pattern);

}  // namespace spile::regex
