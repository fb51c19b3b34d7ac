// =~ in scripts: in the controller, in functions, in traced processes' handlers.

#include "codegen/script_runner_test.h"

namespace spile::codegen {
namespace {

TEST(RegexScript, MatchesAnywhereAndNegates) {
  EXPECT_EQ(output_of(R"~(probe begin { s = "foobar"
    printf("%d%d%d%d\n", s =~ "o+b", s =~ "^b", s !~ "^b", s =~ "(foo|x)b[[:alpha:]]r$") })~"),
            "1011\n");
}

TEST(RegexScript, RemembersGroupsThroughFunctions) {
  EXPECT_EQ(output_of(R"~(function second:string() { return matched(2) }
    probe begin { s = "key=42;" if (s =~ "([a-z]+)=([0-9]+)(x)?") { s = "changed"
      printf("%s|%s|%s|%s|%d|%s\n", matched(0), matched(1), second(), matched(3), ngroups(), matched_str()) } })~"),
            "key=42|key|42||4|key=42\n");
}

TEST(RegexScript, RaisesWhereNothingWasMatched) {
  EXPECT_EQ(
      output_of(
          R"~(probe begin { if ("a" =~ "b") {} try { println(matched(0)) } catch (m) { println(m) } println(ngroups()) })~"),
      "no string has been matched by the last =~\n"
      "ERROR: no string has been matched by the last =~ near identifier 'ngroups' at t.stp:1:95\n");
  EXPECT_EQ(output_of(R"~(probe begin { if ("ab" =~ "(a)") println(matched(2)) })~"),
            "ERROR: the last pattern has no subexpression 2 near identifier 'matched' at t.stp:1:42\n");
}

TEST(RegexScript, FindsGroupsOfPatternsTooLargeForATable) {
  EXPECT_EQ(
      output_of(
          R"~(probe begin { s = "xxabababababababababab" if (s =~ "[ab]*a[ab]{14}(b?)") printdln("", matched(0), ".", matched(1)) })~"),
      "abababababababababab.b\n");
}

TEST(RegexScript, PointsIntoTheLiteral) {
  EXPECT_EQ(output_of("probe begin { if (\"a\" =~ \"x\\\\.(y\") {} }"),
            "refused: t.stp:1:31: error: regular expression: '(' is never closed\n    1 | probe begin { if (\"a\" =~ "
            "\"x\\\\.(y\") {} }\n      |                               ^\n  hint: write \\\\( for a parenthesis itself\n");
}

}  // namespace
}  // namespace spile::codegen
