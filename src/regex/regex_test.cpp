#include "regex/regex.h"

#include <gtest/gtest.h>
#include <regex.h>

#include <random>

#include "regex/match.h"

namespace spile::regex {
namespace {

struct Found {
  bool matched = false;
  bool by_table = false;
  std::vector<std::string> groups;
};

Found find(const std::string& pattern, const std::string& text) {
  Outcome outcome = compile(pattern);
  EXPECT_TRUE(outcome.compiled) << pattern << ": " << outcome.mistake.message;
  if (!outcome.compiled) return {};
  const auto* program = reinterpret_cast<const Program*>(outcome.compiled->program.data());
  uint32_t groups = outcome.compiled->groups;
  std::vector<uint64_t> memory(Matcher::memory_bytes(program->count, groups) / 8 + 1);
  std::vector<uint16_t> marks(2 * groups);
  Found found;
  found.matched = Matcher(program, memory.data(), 511).search(text.c_str(), marks.data());
  found.by_table = outcome.compiled->table.empty()
                       ? found.matched
                       : table_matches(reinterpret_cast<const Table*>(outcome.compiled->table.data()), text.c_str(), 511);
  EXPECT_EQ(found.matched, found.by_table) << pattern << " in " << text;
  for (uint32_t i = 0; found.matched && i < groups; ++i) {
    bool set = marks[2 * i] != kNowhere && marks[2 * i + 1] != kNowhere;
    found.groups.push_back(set ? text.substr(marks[2 * i], marks[2 * i + 1] - marks[2 * i]) : "");
  }
  return found;
}

std::string groups(const std::string& pattern, const std::string& text) {
  Found found = find(pattern, text);
  if (!found.matched) return "no";
  std::string all;
  for (const std::string& group : found.groups) all += "<" + group + ">";
  return all;
}

TEST(Regex, MatchesAnywhereUnlessAnchored) {
  EXPECT_EQ(groups("b+", "aabbc"), "<bb>");
  EXPECT_EQ(groups("^b", "ab"), "no");
  EXPECT_EQ(groups("a$", "ab"), "no");
  EXPECT_EQ(groups("^$", ""), "<>");
  EXPECT_EQ(groups("x*", "abc"), "<>");
  EXPECT_EQ(groups("a|b$", "cab"), "<a>");
  EXPECT_EQ(groups("(^|/)x", "a/x"), "</x></>");
}

TEST(Regex, TakesTheLeftmostLongestMatch) {
  EXPECT_EQ(groups("a|ab|abc", "xabcd"), "<abc>");
  EXPECT_EQ(groups("(a*)(ab)*(b*)", "abb"), "<abb><a><><bb>");
  EXPECT_EQ(groups("[0-9]+", "a12b345"), "<12>");
}

TEST(Regex, RemembersGroups) {
  EXPECT_EQ(groups("^([a-z]+)=([0-9]*)$", "key=42"), "<key=42><key><42>");
  EXPECT_EQ(groups("a|(b)", "a"), "<a><>");
  EXPECT_EQ(groups("(a(b)?)+", "abab"), "<abab><ab><b>");
  EXPECT_EQ(groups("(x{2,3})y", "xxxxy"), "<xxxy><xxx>");
}

// docs/language.md: the order among matches that begin and end at the same places.
TEST(Regex, PrefersTheLeftmostAlternativeAndLongRepetitions) {
  EXPECT_EQ(groups("(a|ab)(c|bcd)", "abcd"), "<abcd><a><bcd>");
  EXPECT_EQ(groups("(ab|a)(c|bcd)", "abcd"), "<abcd><a><bcd>");
  EXPECT_EQ(groups("(ab|a)(bcd|c?d?)", "abcd"), "<abcd><ab><cd>");
  EXPECT_EQ(groups("(a*)(a*)", "aaa"), "<aaa><aaa><>");
  EXPECT_EQ(groups("(a?)(ab)?", "ab"), "<ab><><ab>");
  EXPECT_EQ(groups("(a|b)*", "abab"), "<abab><b>");
}

TEST(Regex, HasClassesAndEscapes) {
  EXPECT_EQ(groups("[[:digit:]x-z]+", "ab1z2"), "<1z2>");
  EXPECT_EQ(groups("[]a]+", "b]a]"), "<]a]>");
  EXPECT_EQ(groups("[^]a]+", "]ab"), "<b>");
  EXPECT_EQ(groups("[a-]+", "b-a-"), "<-a->");
  EXPECT_EQ(groups("a\\.b", "axb a.b"), "<a.b>");
  EXPECT_EQ(groups("\\w+\\s\\d", "foo 1"), "<foo 1>");
  EXPECT_EQ(groups("\xc3\xa9+", "caf\xc3\xa9"), "<\xc3\xa9>");
}

TEST(Regex, PointsAtMistakes) {
  struct Wrong {
    const char* pattern;
    size_t offset;
  };
  for (Wrong wrong : {Wrong{"a(b", 1},
                      {"a)b", 1},
                      {"[ab", 0},
                      {"*a", 0},
                      {"a|*", 2},
                      {"(+)", 1},
                      {"a{2", 1},
                      {"a{3,2}", 1},
                      {"a{x}", 1},
                      {"a{256}", 1},
                      {"[z-a]", 1},
                      {"[[:foo:]]", 1},
                      {"a\\", 1},
                      {"(a)\\1", 3},
                      {"x{200}{200}", 0}}) {
    Outcome outcome = compile(wrong.pattern);
    EXPECT_FALSE(outcome.compiled) << wrong.pattern;
    EXPECT_EQ(outcome.mistake.offset, wrong.offset) << wrong.pattern;
    EXPECT_NE(outcome.mistake.message, "") << wrong.pattern;
  }
}

TEST(Regex, StaysBoundedWherePatternsExplode) {
  std::string text(500, 'a');
  EXPECT_EQ(groups("(a|aa)*(a|aa)*(a|aa)*b", text), "no");
  EXPECT_TRUE(find("[ab]*a[ab]{14}b?", text).matched);  // 2^14 states: without a table
}

// Against the C library, whose grammar of valid patterns is the same for what is made here.
TEST(Regex, AgreesWithPosixOnRandomPatterns) {
  std::mt19937 random(7);
  auto pick = [&](const std::vector<std::string>& of) { return of[random() % of.size()]; };
  std::function<std::string(int)> make = [&](int depth) -> std::string {
    std::string pattern;
    for (unsigned i = random() % 3 + 1; i > 0; --i) {
      pattern += depth > 0 && random() % 3 == 0 ? "(" + make(depth - 1) + ")"
                                                : pick({"a", "b", "c", ".", "[ab]", "[^a]", "ab", "[a-c]", "b"});
      pattern += pick({"", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,1}"});
      if (random() % 6 == 0) pattern += "|" + pick({"a", "b", "bc", "c*", "[bc]+"});
    }
    return pattern;
  };
  for (int i = 0; i < 1500; ++i) {
    std::string pattern = make(2);
    if (random() % 8 == 0) pattern = "^" + pattern;
    if (random() % 8 == 0) pattern += "$";
    regex_t reference;
    ASSERT_EQ(regcomp(&reference, pattern.c_str(), REG_EXTENDED), 0) << pattern;
    for (int k = 0; k < 8; ++k) {
      std::string text;
      for (unsigned n = random() % 9; n > 0; --n) text += "abcd"[random() % 4];
      regmatch_t match;
      bool matches = regexec(&reference, text.c_str(), 1, &match, 0) == 0;
      Found found = find(pattern, text);
      ASSERT_EQ(found.matched, matches) << pattern << " in '" << text << "'";
      if (matches) {
        auto length = static_cast<size_t>(match.rm_eo - match.rm_so);
        ASSERT_EQ(found.groups[0], text.substr(static_cast<size_t>(match.rm_so), length)) << pattern << " in '" << text << "'";
      }
    }
    regfree(&reference);
  }
}

}  // namespace
}  // namespace spile::regex
