#include "sema/sharing/guards.h"

#include <gtest/gtest.h>

#include "sema/fake_target_test.h"

namespace spile::sema {
namespace {

// The guards of a handler as text, "!" before those that turn hits away, and behind "|" how many statements are left.
std::string guards_of(const std::string& body, const std::string& condition = "") {
  auto made = elaborate_text(
      "global n, m = 1, k function f(x) { return x + 1 } function g(x) { n = x; return 1 } probe "
      "process(\"/bin/fake\").function(\"foo\")" +
      condition + " { " + body + " } probe timer.s(1) { println(n + m); n = 1; k = 1 }");
  EXPECT_TRUE(made.ok()) << made.messages();
  if (!made.ok()) return "";
  const Probe& probe = made.program.probes[0];
  GuardedBody divided = divide_body(made.program, probe);
  std::string text = probe.condition && divided.condition_first ? "first " : "";
  for (const Guard& guard : divided.guards) text += (guard.wanted ? "" : "!") + std::string(guard.condition->range.text()) + " ";
  return text + "| " + std::to_string(divided.rest.size());
}

TEST(Guards, AConditionOfTheWholeBodyIsOne) {
  EXPECT_EQ(guards_of("if (pid() == target()) n = 1"), "pid() == target() | 1");
  EXPECT_EQ(guards_of("if (pid() == 1) { if (tid() == 2) { n = 1; n = 2 } }"), "pid() == 1 tid() == 2 | 2");
  EXPECT_EQ(guards_of("if (f($x) > m) n = 1"), "f($x) > m | 1");
}

TEST(Guards, TurnsAwayByNext) {
  EXPECT_EQ(guards_of("if (pid() != 1) next; n = 1; n = 2"), "!pid() != 1 | 2");
  EXPECT_EQ(guards_of("if (pid() != 1) { next } if (tid() != 1) next; if ($x) { if (cpu()) next; n = $x }"),
            "!pid() != 1 !tid() != 1 $x !cpu() | 1");
}

TEST(Guards, WhatReadsOrChangesALockedGlobalIsNone) {
  EXPECT_EQ(guards_of("if (n) n = 2"), "| 1");
  EXPECT_EQ(guards_of("if (g(1)) n = 2"), "| 1");
  EXPECT_EQ(guards_of("if (x = $x) n = x"), "| 1");
  EXPECT_EQ(guards_of("if (randint(9) == 3) n = 3"), "| 1");
  EXPECT_EQ(guards_of("if (pid() == 1) { if (k) n = 2 } k = 3"), "| 2");
  EXPECT_EQ(guards_of("if (pid() == 1) n = 2; else n = 3"), "| 1");
  EXPECT_EQ(guards_of("n = 1; if (pid() == 1) next"), "| 2");
}

TEST(Guards, TheConditionOfTheProbeComesFirst) {
  EXPECT_EQ(guards_of("if (tid() == 2) n = 1", " if (pid() == 1)"), "first tid() == 2 | 1");
  EXPECT_EQ(guards_of("if (tid() == 2) n = 1", " if (n == 1)"), "| 1");
  // k is looked at elsewhere: the probe is switched
  EXPECT_EQ(guards_of("if (tid() == 2) n = 1; m = 2", " if (k)"), "first | 2");
}

}  // namespace
}  // namespace spile::sema
