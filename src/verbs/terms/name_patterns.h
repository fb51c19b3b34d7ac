#pragma once
// Which names a verb is asked for: 'a*|b*' '!c*', as perf probe's filters have it.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spile::verbs {

struct NamePatterns {
  std::vector<std::string> wanted;    // globs; a name that one of them matches is meant; never empty: "*"
  std::vector<std::string> unwanted;  // unless one of these matches it

  bool excludes(const std::string& name) const;
};

// Whether the pattern matches the name or what follows one of its "::", as probe points have it: "sell" and "shop*" match
// "shop::sell". A name as listings print it matches, too (backslash and n for a newline).
bool pattern_matches(const std::string& word, std::string_view name);

// Cuts a word at each '|' that is not in the name of an operator, nor behind a backslash. A library that the first pattern names
// is that of all: "libc.so.6:malloc|free" is "libc.so.6:malloc" and "libc.so.6:free".
std::vector<std::string> alternatives_of(const std::string& word);

// Words are patterns joined by '|'; those that begin with '!' exclude. Without a pattern that includes, all names are meant.
// Error: a pattern is empty.
Result<NamePatterns> parse_name_patterns(const std::vector<std::string>& words);

}  // namespace spile::verbs
