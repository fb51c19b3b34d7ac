#include "base/text/glob.h"

#include <ctype.h>

namespace spile {
namespace {

struct CharacterClass {
  std::string_view name;
  int (*has)(int);
};
constexpr CharacterClass kClasses[] = {{"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank}, {"cntrl", iscntrl},
                                       {"digit", isdigit}, {"graph", isgraph}, {"lower", islower}, {"print", isprint},
                                       {"punct", ispunct}, {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit}};

// Matches "[:name:]" at pattern[at] == '['. Returns the index behind it, or 0 where it is something else.
size_t match_named_class(std::string_view pattern, size_t at, unsigned char c, bool& found) {
  if (pattern.substr(at, 2) != "[:") return 0;
  const size_t end = pattern.find(":]", at + 2);
  if (end == pattern.npos) return 0;
  for (const CharacterClass& each : kClasses) {
    if (pattern.substr(at + 2, end - at - 2) != each.name) continue;
    found |= each.has(c) != 0;
    return end + 2;
  }
  return 0;
}

// Matches one bracket expression at pattern[at] == '['. Returns the index behind it, or 0 where it isn't closed.
size_t match_class(std::string_view pattern, size_t at, char text, bool has_escapes, bool& matched) {
  const auto c = static_cast<unsigned char>(text);
  size_t i = at + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  // Takes a character, which may be escaped.
  const auto next = [&] {
    if (has_escapes && pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    return static_cast<unsigned char>(pattern[i++]);
  };
  bool found = false;
  for (bool first = true; i < pattern.size() && (first || pattern[i] != ']'); first = false) {
    if (const size_t behind = match_named_class(pattern, i, c, found); behind != 0) {
      i = behind;
      continue;
    }
    const unsigned char low = next();
    unsigned char high = low;
    if (i + 1 < pattern.size() && pattern[i] == '-' && pattern[i + 1] != ']') {
      ++i;
      high = next();
    }
    found |= low <= c && c <= high;
  }
  if (i >= pattern.size()) return 0;
  matched = found != negated;
  return i + 1;
}

// After a mismatch, goes back to the last star alone, which takes one character more: what earlier stars took can stay.
bool matches(std::string_view pattern, std::string_view text, bool has_escapes) {
  constexpr size_t kNone = ~size_t{0};
  size_t p = 0, t = 0, star = kNone, star_text = 0;
  while (t < text.size()) {
    bool matched = false;
    size_t next = p + 1;
    if (p < pattern.size()) {
      const char c = pattern[p];
      if (c == '*') {
        star = p++;
        star_text = t;
        continue;
      }
      if (c == '?') {
        matched = true;
      } else if (c == '[') {
        next = match_class(pattern, p, text[t], has_escapes, matched);
        if (next == 0) {  // not closed: an ordinary '['
          matched = text[t] == '[';
          next = p + 1;
        }
      } else if (c == '\\' && has_escapes && p + 1 < pattern.size()) {
        matched = pattern[p + 1] == text[t];
        next = p + 2;
      } else {
        matched = c == text[t];
      }
    }
    if (matched) {
      p = next;
      ++t;
    } else if (star != kNone) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view text) { return matches(pattern, text, true); }

bool glob_matches_without_escapes(std::string_view pattern, std::string_view text) { return matches(pattern, text, false); }

bool is_glob(std::string_view pattern) { return pattern.find_first_of("*?[\\") != pattern.npos; }

bool has_wildcard(std::string_view pattern) { return pattern.find_first_of("*?[") != pattern.npos; }

}  // namespace spile
