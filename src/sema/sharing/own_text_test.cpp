#include "sema/sharing/own_text.h"

#include <gtest/gtest.h>

#include "sema/fake_target_test.h"
#include "syntax/visitor.h"

namespace spile::sema {
namespace {

// Whether the argument of the script's last println() is its own text.
bool prints_own(const std::string& script) {
  auto made = elaborate_text(script);
  EXPECT_TRUE(made.ok()) << made.messages();
  if (!made.ok()) return false;
  OwnText own(made.program);
  const syntax::Print* last = nullptr;
  for (const Probe& probe : made.program.probes) {
    syntax::for_each_expression(*probe.body, [&](const syntax::Expression& e) {
      if (const auto* print = syntax::as<syntax::Print>(e); print && print->to_stream) last = print;
    });
  }
  EXPECT_NE(last, nullptr);
  return last && own.is_own(*last->arguments[0]);
}

TEST(OwnText, LiteralsAndWhatIsMadeOfThem) {
  EXPECT_TRUE(prints_own("probe begin { println(\"a\") }"));
  EXPECT_TRUE(prints_own("probe begin { x = \"a\" x .= \"b\" println(x) }"));
  EXPECT_TRUE(prints_own("probe begin { println(sprintf(\"%d%s\", cpu(), pid() ? \"a\" : \"b\")) }"));
  EXPECT_TRUE(prints_own("function f(s) { return s . \"b\" } probe begin { println(f(\"a\")) }"));
  EXPECT_TRUE(prints_own("global g probe begin { g[1] = \"a\" println(g[1]) }"));
  EXPECT_TRUE(prints_own("probe begin { println(substr(\"abc\", cpu(), 1)) }"));
}

TEST(OwnText, NotWhatComesFromElsewhere) {
  EXPECT_FALSE(prints_own("probe begin { println(execname()) }"));
  EXPECT_FALSE(prints_own("probe begin { x = \"a\" if (pid()) x = execname() println(x) }"));
  EXPECT_FALSE(prints_own("probe begin { x = \"a\" y = x x .= execname() println(y . x) }"));
  EXPECT_FALSE(prints_own("function f(s) { return s } probe begin { println(f(execname())) println(f(\"a\")) }"));
  EXPECT_FALSE(prints_own("function f() { return execname() } probe begin { println(f()) }"));
  EXPECT_FALSE(prints_own("global g probe begin { g[1] = execname() println(g[2]) }"));
  EXPECT_FALSE(prints_own("probe begin { println(sprintf(\"%c\", cpu())) }"));
  EXPECT_FALSE(prints_own("probe begin { println(sprint(execname())) }"));
  EXPECT_FALSE(prints_own("probe begin { try { error(execname()) } catch (m) { println(m) } }"));
  EXPECT_FALSE(prints_own("global g probe begin { g[execname()] = \"a\" foreach (k in g) println(k) }"));
}

TEST(OwnText, NotGlobalsThatTracedProgramsCanWriteTo) {
  EXPECT_FALSE(prints_own("global g probe process(\"/bin/fake\").function(\"foo\") { g = \"a\" } probe end { println(g) }"));
  EXPECT_FALSE(
      prints_own("global g = \"a\" probe process(\"/bin/fake\").function(\"foo\") { println(strlen(g)) } probe end { g = \"b\" "
                 "println(g) }"));
}

}  // namespace
}  // namespace spile::sema
