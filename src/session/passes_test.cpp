#include "session/passes.h"

#include <gtest/gtest.h>

namespace spile::session {
namespace {

std::string problem(const std::string& name, const StepNames& steps) {
  auto checked = check_print_after(name, steps);
  return checked.ok() ? "" : checked.error().message + "|" + checked.error().hint;
}

TEST(PrintAfter, TakesNamesOfStepsThatRan) {
  EXPECT_EQ(problem("", {}), "");
  EXPECT_EQ(problem("infer-types", {"bind-targets", "infer-types"}), "");
}

TEST(PrintAfter, RefusesOtherNamesAndSuggestsTheNearest) {
  EXPECT_EQ(problem("infer-tpes", {"bind-targets", "infer-types"}),
            "--print-after: unknown step 'infer-tpes' of the passes|did you mean 'infer-types'?");
  EXPECT_EQ(problem("x", {"bind-targets", "infer-types"}), "--print-after: unknown step 'x' of the passes|-vv prints the names");
}

TEST(Passes, ReportAScriptThatDoesNotParse) {
  SourceFiles files;
  testing::internal::CaptureStderr();
  auto parsed = parse_scripts({.text = "probe begin {"}, {}, {}, files);
  std::string printed = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(parsed.ok());
  EXPECT_FALSE(parsed->has_value());
  EXPECT_TRUE(printed.ends_with("Pass 1: parse failed.\n")) << printed;
}

TEST(Passes, CountProbesFunctionsEmbedsAndGlobals) {
  SourceFiles files;
  ScriptOptions script{.text = "global a = 1\n%{ static int x; %}\nfunction f() { return a }\nprobe begin, end { println(f()) }",
                       .guru = true};
  auto parsed = parse_scripts(script, {}, {}, files);
  ASSERT_TRUE(parsed.ok() && parsed->has_value());
  auto program = begin_program(std::move(**parsed), script, {}, {}, false, files);
  ASSERT_TRUE(program.ok());
  auto world = probes::World::open({});
  ASSERT_TRUE(world.ok());
  StepNames steps;
  testing::internal::CaptureStderr();
  bool elaborated = elaborate_program(*program, **world, {}, {.pass_verbosity = {0, 1, 0, 0, 0}}, "", steps);
  std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(elaborated);
  EXPECT_TRUE(printed.starts_with("Pass 2: analyzed script: 2 probes, 1 function, 1 embed, 1 global ")) << printed;
  EXPECT_EQ(steps.front(), "gather-library");
  EXPECT_EQ(steps.back(), "group-sites");
}

}  // namespace
}  // namespace spile::session
