#pragma once
// Patterns of names: * ? [a-z] [!a-z] and backslash. Two rules are meant:
//
//   everywhere, that of fnmatch(3) without flags in the C locale: '/', and a '.' in front, are ordinary characters; characters
//   are bytes, [[:digit:]] and the like are known, and a '[' that is not closed is an ordinary character;
//   in the preprocessor's conditions, the same without backslash, as SystemTap has it: %( kernel_vr == "*\x" %).
//
// (Files that a pattern matches are found by glob(3), which has the rule of shells.)
//
// Thread rule: any thread.

#include <string_view>

namespace spile {

// Whether all of the text matches the pattern. Takes at most time in proportion to the product of both sizes.
bool glob_matches(std::string_view pattern, std::string_view text);
// The same, but a backslash is an ordinary character (FNM_NOESCAPE).
bool glob_matches_without_escapes(std::string_view pattern, std::string_view text);

// Whether glob_matches() is needed: else the pattern matches only itself. True for a backslash, too.
bool is_glob(std::string_view pattern);
// Whether the pattern asks for several names: it has one of * ? [. False for "a\\b", which is one name, though not this text.
bool has_wildcard(std::string_view pattern);

}  // namespace spile
