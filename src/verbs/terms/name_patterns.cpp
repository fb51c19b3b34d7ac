#include "verbs/terms/name_patterns.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/glob.h"
#include "debuginfo/terms/names.h"
#include "verbs/terms/option_values.h"

namespace spile::verbs {

std::vector<std::string> alternatives_of(const std::string& word) {
  constexpr std::string_view kOperator = "operator";
  const std::string library = library_and_function(word).first;
  std::vector<std::string> parts(1);
  bool is_escaped = false;
  for (char c : word) {
    const std::string_view before = parts.back();
    const bool in_operator = before.ends_with(kOperator) || before.ends_with("operator|");
    if (c == '|' && !in_operator && !is_escaped) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
    is_escaped = c == '\\' && !is_escaped;
  }
  for (size_t i = 1; i < parts.size() && !library.empty(); ++i) {
    if (!parts[i].empty() && library_and_function(parts[i]).first.empty()) parts[i] = library + ":" + parts[i];
  }
  return parts;
}

bool pattern_matches(const std::string& word, std::string_view name) {
  const std::string pattern = debuginfo::pattern_of_shown(word);
  if (word == name || glob_matches(pattern, name)) return true;
  int depth = 0;  // of template arguments and parameters
  for (size_t i = 0; i + 1 < name.size(); ++i) {
    if (name[i] == '<' || name[i] == '(') ++depth;
    if (name[i] == '>' || name[i] == ')') --depth;
    if (depth == 0 && name.substr(i, 2) == "::" && glob_matches(pattern, name.substr(i + 2))) return true;
  }
  return false;
}

bool NamePatterns::excludes(const std::string& name) const {
  return std::ranges::any_of(unwanted, [&](const std::string& pattern) { return pattern_matches(pattern, name); });
}

Result<NamePatterns> parse_name_patterns(const std::vector<std::string>& words) {
  NamePatterns patterns;
  for (const std::string& word : words) {
    const bool excludes = word.starts_with('!');
    for (std::string& pattern : alternatives_of(excludes ? word.substr(1) : word)) {
      if (pattern.empty())
        return Error{fmt::format("'{}' has an empty pattern", word), "patterns are joined by '|': 'get*|set*' '!*_unlocked'"};
      (excludes ? patterns.unwanted : patterns.wanted).push_back(std::move(pattern));
    }
  }
  if (patterns.wanted.empty()) patterns.wanted = {"*"};
  return patterns;
}

}  // namespace spile::verbs
