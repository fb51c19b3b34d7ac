#include "session/scripts/library_names.h"

#include <gtest/gtest.h>

#include "base/diagnostics.h"
#include "syntax/parser.h"

namespace spile::session {
namespace {

using Names = std::set<std::string>;

TEST(ReferredNames, FindsCallsVariablesAndPointsWhereverTheyStand) {
  SourceFiles files;
  Diagnostics diagnostics;
  syntax::Script script = syntax::parse(files.add("x",
                                                  "probe vfs.read if (wanted) { a[f(b)] = sprintf(\"%d\", g()) }\n"
                                                  "function h(x) { if (deep(x)) return inner(x) }\n"
                                                  "probe mine = scsi.* { v = early() }\n"),
                                        {}, diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render(false);
  ReferredNames names;
  names.add(*script.probes[0]);
  EXPECT_EQ(names.alias_heads, Names{"vfs.read"});
  EXPECT_TRUE(names.variables.contains("wanted")) << "the probe's condition counts";
  EXPECT_TRUE(names.variables.contains("b"));
  EXPECT_TRUE(names.functions.contains("f"));
  EXPECT_TRUE(names.functions.contains("g"));

  ReferredNames of_function;
  of_function.add(*script.functions[0]);
  EXPECT_TRUE(of_function.functions.contains("deep"));
  EXPECT_TRUE(of_function.functions.contains("inner"));

  ReferredNames of_alias;
  of_alias.add(*script.aliases[0]);
  EXPECT_EQ(of_alias.alias_heads, Names{"scsi.*"});
  EXPECT_EQ(of_alias.functions, Names{"early"});
}

TEST(MayMatch, ComparesNamesAndGlobs) {
  EXPECT_TRUE(may_match("vfs", "vfs"));
  EXPECT_FALSE(may_match("vfs", "vfs2"));
  EXPECT_TRUE(may_match("v*", "vfs"));
  EXPECT_FALSE(may_match("x*", "vfs"));
  EXPECT_TRUE(may_match("sched?", "sched2"));
}

TEST(MayMatch, ComparesTwoComponentsWhereBothHaveThem) {
  EXPECT_TRUE(may_match("vfs.read", "vfs.read"));
  EXPECT_FALSE(may_match("vfs.read", "vfs.write"));
  EXPECT_TRUE(may_match("vfs.r*", "vfs.read"));
  EXPECT_TRUE(may_match("vfs.{read,write}", "vfs.write"));
  EXPECT_TRUE(may_match("vfs.read", "vfs")) << "an alias of one component, with a suffix";
  EXPECT_TRUE(may_match("vfs**", "vfs.read"));
  EXPECT_TRUE(may_match("vfs.r*", "vfs.__any")) << "which may serve in place of the others";
  EXPECT_FALSE(may_match("vfs.read", "vfs.__any"));
}

TEST(MayMatch, TakesAlternativesForAnything) {
  EXPECT_TRUE(may_match("{tcp,udp}", "udp"));
  EXPECT_TRUE(may_match("net{tcp,udp}", "netudp"));
  EXPECT_FALSE(may_match("net{tcp,udp}", "udp"));
  EXPECT_TRUE(may_match("net{tcp", "nettcp")) << "a brace that is not closed reaches to the end";
}

}  // namespace
}  // namespace spile::session
