#include "base/text/glob.h"

#include <fnmatch.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace spile {
namespace {

TEST(Glob, MatchesWholeTexts) {
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("foo", "foo"));
  EXPECT_FALSE(glob_matches("foo", "foobar"));
  EXPECT_TRUE(glob_matches("foo*", "foobar"));
  EXPECT_TRUE(glob_matches("*a*b*c", "xxaxxbxxbc"));
  EXPECT_FALSE(glob_matches("*a*b*c", "xxaxxbxxbcd"));
  EXPECT_TRUE(glob_matches("f?o", "fxo"));
  EXPECT_FALSE(glob_matches("f?o", "fo"));
  EXPECT_FALSE(glob_matches("", "x"));
}

TEST(Glob, MatchesCharactersOfAClass) {
  EXPECT_TRUE(glob_matches("f[a-cx]o", "fbo"));
  EXPECT_FALSE(glob_matches("f[!a-cx]o", "fxo"));
  EXPECT_TRUE(glob_matches("f[^a-c]o", "fxo"));
  EXPECT_TRUE(glob_matches("f[]x]o", "f]o"));
  EXPECT_TRUE(glob_matches("f[o", "f[o"));
  EXPECT_TRUE(glob_matches("v[[:digit:]][a[:upper:]]", "v7Q"));
  EXPECT_FALSE(glob_matches("v[[:digit:]]", "vx"));
  EXPECT_TRUE(glob_matches("[\x80-\xff]", "\xc3"));
}

TEST(Glob, TakesWhatABackslashPrecedesAsItIs) {
  EXPECT_TRUE(glob_matches("f\\*", "f*"));
  EXPECT_FALSE(glob_matches("f\\*", "fx"));
  EXPECT_TRUE(glob_matches("[\\]]", "]"));
  EXPECT_TRUE(glob_matches_without_escapes("f\\*", "f\\x"));
  EXPECT_FALSE(glob_matches_without_escapes("f\\*", "f*"));
  EXPECT_TRUE(glob_matches_without_escapes("5.*.[0-9]", "5.10.7"));
}

TEST(Glob, HasNoSpecialSlashesAndDots) {
  EXPECT_TRUE(glob_matches("*lib*", "/usr/lib/libc.so.6"));
  EXPECT_TRUE(glob_matches("?hidden", ".hidden"));
}

TEST(Glob, IsKnownByItsCharacters) {
  for (const char* pattern : {"a*", "a?", "[a"}) EXPECT_TRUE(is_glob(pattern) && has_wildcard(pattern)) << pattern;
  EXPECT_TRUE(is_glob("a\\b"));
  EXPECT_FALSE(has_wildcard("a\\b"));
  EXPECT_FALSE(is_glob("std::vector<int>::size() const") || has_wildcard(""));
}

TEST(Glob, ComesToAnEndWithManyStars) {
  std::string pattern;
  for (int i = 0; i < 100; ++i) pattern += "*a";
  EXPECT_FALSE(glob_matches(pattern + "b", std::string(10'000, 'a')));
}

// Whatever the pattern is: what fnmatch(3) says. Here, a backslash at the end, and a '[' that is not closed, are ordinary
// characters always; there, only mostly.
TEST(Glob, AgreesWithFnmatch) {
  std::mt19937 random(7);
  const auto made = [&](std::string_view letters, size_t most) {
    std::string text(random() % (most + 1), ' ');
    for (char& letter : text) letter = letters[random() % letters.size()];
    return text;
  };
  for (int round = 0; round < 200'000; ++round) {
    const std::string pattern = made("aab*?[]!-^\\", 8), text = made("aaabb-]\\[!", 5);
    if (pattern.find(']') == pattern.npos && pattern.find('[') != pattern.npos) continue;
    EXPECT_EQ(glob_matches_without_escapes(pattern, text), fnmatch(pattern.c_str(), text.c_str(), FNM_NOESCAPE) == 0)
        << pattern << " " << text;
    if (pattern.ends_with('\\')) continue;
    EXPECT_EQ(glob_matches(pattern, text), fnmatch(pattern.c_str(), text.c_str(), 0) == 0) << pattern << " " << text;
  }
}

}  // namespace
}  // namespace spile
