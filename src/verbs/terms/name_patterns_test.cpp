#include "verbs/terms/name_patterns.h"

#include <gmock/gmock.h>

namespace spile::verbs {
namespace {

using testing::ElementsAre;

TEST(NamePatterns, AreJoinedByBarsAndExcludedByExclamationMarks) {
  auto patterns = parse_name_patterns({"get*|set*", "!*_unlocked|*_r", "close"});
  ASSERT_TRUE(patterns.ok());
  EXPECT_THAT(patterns->wanted, ElementsAre("get*", "set*", "close"));
  EXPECT_THAT(patterns->unwanted, ElementsAre("*_unlocked", "*_r"));
  EXPECT_TRUE(patterns->excludes("getc_unlocked"));
  EXPECT_FALSE(patterns->excludes("getc"));
}

TEST(NamePatterns, ExcludeByTheNameWithoutItsScopes) {
  auto patterns = parse_name_patterns({"!sell|buy*|Cart::*"});
  ASSERT_TRUE(patterns.ok());
  EXPECT_TRUE(patterns->excludes("shop::sell"));
  EXPECT_TRUE(patterns->excludes("shop::Stall<a::b>::buy_all"));
  EXPECT_TRUE(patterns->excludes("shop::Cart::add"));
  EXPECT_FALSE(patterns->excludes("shop::sells"));
  EXPECT_FALSE(patterns->excludes("shop::each<other::sell>"));
}

TEST(NamePatterns, MeanAllNamesWhereNoneIncludes) {
  auto patterns = parse_name_patterns({"!str*"});
  ASSERT_TRUE(patterns.ok());
  EXPECT_THAT(patterns->wanted, ElementsAre("*"));
}

TEST(NamePatterns, KeepTheBarOfAnOperator) {
  EXPECT_THAT(parse_name_patterns({"operator|"})->wanted, ElementsAre("operator|"));
  EXPECT_THAT(parse_name_patterns({"A::operator||"})->wanted, ElementsAre("A::operator||"));
}

TEST(NamePatterns, TakeEscapedBarsAndNamesAsTheyArePrinted) {
  EXPECT_THAT(parse_name_patterns({R"(a\\|b|c)"})->wanted, ElementsAre(R"(a\\)", "b", "c"));
  auto patterns = parse_name_patterns({R"(a\|b)", R"(\!bang)", R"(!x\ny|q"u\t)"});
  ASSERT_TRUE(patterns.ok());
  EXPECT_THAT(patterns->wanted, ElementsAre(R"(a\|b)", R"(\!bang)"));
  EXPECT_TRUE(patterns->excludes("x\ny"));
  EXPECT_TRUE(patterns->excludes("q\"u\t"));
  EXPECT_TRUE(patterns->excludes(R"(q"u\t)"));
  EXPECT_FALSE(patterns->excludes("xny"));
}

TEST(NamePatterns, MayNotBeEmpty) {
  EXPECT_FALSE(parse_name_patterns({""}).ok());
  EXPECT_FALSE(parse_name_patterns({"a|"}).ok());
  EXPECT_FALSE(parse_name_patterns({"!"}).ok());
}

TEST(NamePatterns, AlternativesHaveTheLibraryOfTheFirst) {
  EXPECT_THAT(alternatives_of("a"), ElementsAre("a"));
  EXPECT_THAT(alternatives_of("a*|b"), ElementsAre("a*", "b"));
  EXPECT_THAT(alternatives_of("shop::operator||b"), ElementsAre("shop::operator||b"));
  EXPECT_THAT(alternatives_of("libc.so.6:malloc|free"), ElementsAre("libc.so.6:malloc", "libc.so.6:free"));
  EXPECT_THAT(alternatives_of("libc.so.6:malloc|libm.so*:sin"), ElementsAre("libc.so.6:malloc", "libm.so*:sin"));
  EXPECT_THAT(alternatives_of("a|"), ElementsAre("a", ""));
}

}  // namespace
}  // namespace spile::verbs
