#include "session/terms/limits.h"

#include <gtest/gtest.h>

namespace spile::session {
namespace {

// The error of applying -D's settings, or "".
std::string problem(std::vector<std::string> limits, sema::Program& program) {
  ScriptOptions script;
  script.limits = std::move(limits);
  auto applied = apply_settings(script, {}, {.suppress_warnings = true}, program);
  return applied.ok() ? "" : applied.error().message + "|" + applied.error().hint;
}
std::string problem(const std::string& limit) {
  sema::Program program;
  return problem({limit}, program);
}

TEST(Limits, TakesNumbersWithinTheirRange) {
  sema::Program program;
  EXPECT_EQ(problem({"MAXACTION=7", "MAXSTRINGLEN=16384", "HIST_ELISION=-1"}, program), "");
  EXPECT_EQ(program.limits.max_action, 7);
  EXPECT_EQ(program.limits.max_string_length, 16384);
  EXPECT_EQ(program.limits.hist_elision, -1);
}

TEST(Limits, RefusesWhatIsNotANumberInRange) {
  EXPECT_EQ(problem("MAXSTRINGLEN=16385"), "-D MAXSTRINGLEN=16385: expected a number from 16 to 16384|");
  EXPECT_EQ(problem("MAXSTRINGLEN=15"), "-D MAXSTRINGLEN=15: expected a number from 16 to 16384|");
  EXPECT_EQ(problem("MAXACTION=1x"), "-D MAXACTION=1x: expected a number from 0 to 2147483647|");
  EXPECT_EQ(problem("MAXACTION="), "-D MAXACTION=: expected a number from 0 to 2147483647|");
  EXPECT_EQ(problem("MAXACTION=99999999999999999999"),
            "-D MAXACTION=99999999999999999999: expected a number from 0 to 2147483647|");
}

TEST(Limits, SuggestsANameThatIsAlmostRight) {
  EXPECT_EQ(problem("MAXACTIONS=1"), "-D MAXACTIONS=1: unknown limit 'MAXACTIONS'|did you mean MAXACTION?");
}

TEST(Limits, KeepsMacrosOfEmbeddedCAndIgnoresThoseOfSystemTapsModules) {
  sema::Program program;
  EXPECT_EQ(problem({"STP_NO_OVERLOAD", "WITH_LUCK=yes"}, program), "");
  EXPECT_EQ(program.c_definitions, (std::map<std::string, std::string>{{"STP_NO_OVERLOAD", "1"}, {"WITH_LUCK", "yes"}}));
}

TEST(Limits, SuppressedTimeLimitsWinOverMaxaction) {
  sema::Program program;
  ScriptOptions script;
  script.limits = {"MAXACTION=5"};
  ASSERT_TRUE(apply_settings(script, {.suppress_time_limits = true}, {}, program).ok());
  EXPECT_EQ(program.limits.max_action, INT32_MAX);
  EXPECT_EQ(program.limits.max_action_interruptible, INT32_MAX);
}

TEST(Limits, SuppressedHandlerErrorsEndNothing) {
  sema::Program program;
  ASSERT_TRUE(apply_settings({}, {}, {.suppress_handler_errors = true}, program).ok());
  EXPECT_EQ(program.limits.max_errors, INT32_MAX);
  EXPECT_EQ(program.limits.max_skipped, 0) << "any number";
}

TEST(Limits, StringLengthIsTheLastOneGiven) {
  ScriptOptions script;
  EXPECT_EQ(string_length(script), 512);
  script.limits = {"MAXSTRINGLEN=100", "MAXACTION=3", "MAXSTRINGLEN=200"};
  EXPECT_EQ(string_length(script), 200);
}

TEST(Limits, GlobalsTakeAllBehindTheFirstEqualsSign) {
  sema::Program program;
  ASSERT_TRUE(apply_settings({}, {.global_values = {"a=b=c", "d="}}, {}, program).ok());
  EXPECT_EQ(program.global_overrides, (std::map<std::string, std::string>{{"a", "b=c"}, {"d", ""}}));
}

}  // namespace
}  // namespace spile::session
