// What elaboration makes of scripts that are right. Those that are wrong: refusals_test.cpp.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "sema/fake_target_test.h"
#include "syntax/visitor.h"

namespace spile::sema {
namespace {

using namespace syntax;
using sema::Probe;

using testing::HasSubstr;

std::string entry(const std::string& body) { return "probe process(\"/bin/fake\").function(\"foo\") { " + body + " }"; }

TEST(Elaborate, PrintsWhatPass2Shows) {
  auto made = elaborate_text("global c, names function twice(n) { return n * 2 } " +
                             entry("c += twice($x); names[execname(), tid()] = $s") +
                             " probe end { y = c; foreach ([n, t] in names) printdln(\" \", n, t, y) }");
  ASSERT_TRUE(made.ok()) << made.messages();
  EXPECT_EQ(to_text(made.program),
            "# globals\n"
            "c:long\n"
            "names:string [string, long]\n"
            "# functions\n"
            "twice:long (n:long)\n"
            "# probes\n"
            "process(\"/bin/fake\").function(\"foo\") /* pc=/bin/fake+0x1000 */\n"
            "end\n"
            "  # locals\n"
            "  y:long\n"
            "  n:string\n"
            "  t:long\n");
}

TEST(Elaborate, TypesFlowBackFromTheirUse) {
  auto made = elaborate_text(
      "global a, b function id(v) { return v } probe begin { printf(\"%s\", id(a)); b = id(a); if (a == \"x\") next }");
  ASSERT_TRUE(made.ok()) << made.messages();
  EXPECT_EQ(made.global("a").type, ValueType::kString);
  EXPECT_EQ(made.global("b").type, ValueType::kString);
}

// As where all other uses of a global were for kernels that lack something.
TEST(Elaborate, GlobalsThatAreOnlyDeletedHaveAType) {
  auto made = elaborate_text("global a, b probe begin { if (@defined(@cast(0, \"none\")->x)) a = 1; delete a; delete b[\"k\"] }");
  ASSERT_TRUE(made.ok()) << made.messages();
  EXPECT_EQ(made.global("a").type, ValueType::kLong);
  EXPECT_EQ(made.global("b").type, ValueType::kLong);
  EXPECT_EQ(made.global("b").key_types.at(0), ValueType::kString);
}

TEST(Elaborate, RecursionHasAType) {
  auto made = elaborate_text("function fact(n) { if (n < 2) return 1; return n * fact(n - 1) } probe begin { println(fact(5)) }");
  ASSERT_TRUE(made.ok()) << made.messages();
  EXPECT_EQ(made.program.functions.at(0)->type, ValueType::kLong);
}

TEST(Elaborate, OverloadsFallThroughInOrderOfPriority) {
  auto made = elaborate_text(
      "function f(x):9 { return 9 } function f(x):2 { if (x > 1) next; return 2 } function f() { return 0 } "
      "function f(x) { next } probe begin { printdln(\" \", f(1), f()) }");
  const Call* one = nullptr;
  for_each_expression(static_cast<Statement&>(*made.program.probes[0].body), [&](Expression& x) {
    if (auto* call = as<Call>(x); call && call->arguments.size() == 1) one = call;
  });
  ASSERT_TRUE(one);
  EXPECT_FALSE(one->function->priority);
  ASSERT_EQ(one->fallbacks.size(), 2u);
  EXPECT_EQ(one->fallbacks[0]->priority, 2);
  EXPECT_EQ(one->fallbacks[1]->priority, 9);
  EXPECT_TRUE(one->fallbacks[0]->falls_through);
  EXPECT_FALSE(one->fallbacks[1]->falls_through);
}

TEST(Elaborate, DeletingALocalIsAnAssignment) {
  auto made = elaborate_text("probe begin { s = \"x\"; delete s; println(s) }");
  ASSERT_TRUE(made.ok()) << made.messages();
  EXPECT_THAT(syntax::to_source(*made.program.probes[0].body), HasSubstr("s = \"\""));
}

TEST(Elaborate, ThousandsOfPointsShareOneProbeQuickly) {
  FakeTarget target;
  target.many = 2000;
  auto start = std::chrono::steady_clock::now();
  auto made =
      elaborate_scripts({"global c probe process(\"/bin/fake\").function(\"f*\") { c++ } probe end { println(c) }"}, target);
  auto spent = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(made.ok()) << made.messages();
  ASSERT_EQ(made.program.probes.size(), 2u);
  EXPECT_EQ(made.program.probes[0].points.size(), 2001u);
  EXPECT_EQ(made.program.sites.size(), 2001u);
  EXPECT_EQ(made.program.site_groups.size(), 1u);
  EXPECT_EQ(made.program.sites[7].points, std::vector<int>{7});
  EXPECT_LT(spent, std::chrono::milliseconds(2500));  // 60 on an idle machine
}

TEST(Elaborate, PointsWithOtherBindingsAreOtherProbes) {
  auto made = elaborate_text(
      "probe process(\"/bin/fake\").function(\"{foo,bar}\"), process(\"/bin/fake\").function(\"foo\"),"
      "process(\"/bin/fake\").function(\"bar\") { println($x) }");
  EXPECT_FALSE(made.ok());  // braces are not a glob inside the parameter
  made = elaborate_text(
      "probe process(\"/bin/fake\").function(\"foo\"), process(\"/bin/fake\").function(\"bar\"),"
      "process(\"/bin/fake\").function(\"foo\") { println($x) }");
  ASSERT_TRUE(made.ok()) << made.messages();
  ASSERT_EQ(made.program.probes.size(), 2u);
  EXPECT_EQ(made.program.probes[0].points.size(), 2u);
  // foo is named twice: the body runs twice at that place.
  ASSERT_EQ(made.program.sites.size(), 2u);
  EXPECT_EQ(made.program.site_groups[made.program.sites[0].group].entry_probes, (std::vector<int>{0, 0}));
}

TEST(Elaborate, DefinedChoosesTheBranchPerPoint) {
  auto made =
      elaborate_text("probe process(\"/bin/fake\").function(\"ba*\") { if (@defined($x)) println($x); else println(\"none\") }");
  ASSERT_TRUE(made.ok()) << made.messages();
  ASSERT_EQ(made.program.probes.size(), 2u);
  EXPECT_EQ(made.program.probes[0].bindings.size(), 1u);
  EXPECT_EQ(made.program.probes[1].bindings.size(), 0u);
  EXPECT_EQ(syntax::to_source(*made.program.probes[1].body).find("$x"), std::string::npos);
}

TEST(Elaborate, ReturnProbesSaveAtTheEntry) {
  auto made = elaborate_text(
      "probe process(\"/bin/fake\").function(\"foo\").return "
      "{ printdln(\" \", $return, $x, $x, @entry(gettimeofday_ns()), @entry($s)) }");
  ASSERT_TRUE(made.ok()) << made.messages();
  const Probe& probe = made.program.probes.at(0);
  ASSERT_EQ(probe.entry_saves.size(), 3u);  // $x once
  EXPECT_EQ(probe.entry_saves[0]->type, ValueType::kLong);
  EXPECT_EQ(probe.entry_saves[2]->type, ValueType::kString);
  EXPECT_EQ(probe.bindings.size(), 3u);
}

TEST(Elaborate, ExpandsAllVariables) {
  auto made = elaborate_text(entry("println($$vars)"));
  ASSERT_TRUE(made.ok()) << made.messages();
  EXPECT_THAT(syntax::to_source(*made.program.probes[0].body), HasSubstr("sprintf(\"x=%#x gone=?\", $x)"));
}

TEST(Elaborate, NotesWhoseEntriesHaveToBeKept) {
  auto made = elaborate_text("probe process(\"/bin/fake\").function(\"baz\") { println($$vars) }");
  ASSERT_TRUE(made.ok()) << made.messages();
  ASSERT_EQ(made.program.sites.kept_functions().size(), 1u);
  EXPECT_EQ(made.program.sites.kept_functions()[0].module, "/bin/fake");
  EXPECT_EQ(made.program.sites.kept_functions()[0].address, FileAddress(0x1020));
  EXPECT_EQ(made.program.sites.kept_registers(), std::vector<uint8_t>{5});
  // What is not known is not an error here.
  EXPECT_THAT(syntax::to_source(*made.program.probes[0].body), HasSubstr("sprintf(\"kept=%s\", sprintf(\"%#x\", $kept))"));
  std::vector<std::string> instead;
  syntax::for_each_expression(static_cast<const syntax::Statement&>(*made.program.probes[0].body),
                              [&](const syntax::Expression& x) {
                                if (const auto* print = syntax::as<syntax::Print>(x)) instead.push_back(print->if_unreadable);
                              });
  EXPECT_THAT(instead, testing::UnorderedElementsAre("", "", "?"));
  EXPECT_TRUE(elaborate_text(entry("println($$vars)")).program.sites.kept_functions().empty());
}

TEST(Elaborate, OptionalAndSufficientPoints) {
  auto made = elaborate_text("probe nothing ?, begin(1) !, begin(2) { exit() }");
  ASSERT_TRUE(made.ok()) << made.messages();
  ASSERT_EQ(made.program.probes.size(), 1u);
  EXPECT_EQ(made.program.probes[0].points[0].sequence, 1);
}

TEST(Elaborate, AliasesWrapTheBodyAndTakeSuffixes) {
  auto made = elaborate_text(
      "probe my.call = process(\"/bin/fake\").function(\"foo\") { who = \"foo\" }"
      "probe my.call.all += my.call { done = 1; println(done) }"
      "probe my.call.all { println(who) }"
      "probe my.call.return { printdln(\",\", $return, who) }");
  ASSERT_TRUE(made.ok()) << made.messages();
  ASSERT_EQ(made.program.probes.size(), 2u);
  std::string body = syntax::to_source(*made.program.probes[0].body);
  EXPECT_LT(body.find("who = "), body.find("println(who)"));
  EXPECT_LT(body.find("println(who)"), body.find("done = 1"));
  EXPECT_EQ(made.program.probes[1].kind, ProbeKind::kFunctionReturn);
  EXPECT_EQ(made.program.probes[0].points[0].name, "my.call.all");
}

TEST(Elaborate, LibraryIsTakenWhereUsed) {
  FakeTarget target;
  auto made = elaborate_scripts({"probe begin { println(depth()) }",
                                 "global level, other private global secret function depth() { secret = 1; return level }"
                                 "function unused() { return nowhere() } probe timer.s(1) { level++ }",
                                 "probe timer.s(2) { unused_library() }"},
                                target);
  ASSERT_TRUE(made.ok()) << made.messages();
  EXPECT_EQ(made.program.functions.size(), 1u);
  EXPECT_EQ(made.program.globals.size(), 2u);
  EXPECT_EQ(made.program.probes.size(), 2u);  // library 1's timer comes with it, library 2 is not used
}

TEST(Elaborate, LibraryAliasWithoutPointsIsAnErrorUnlessOptional) {
  const std::string library = "probe some.thing = nowhere.now ?, nowhere.before ! { } probe some.all = some.thing { }";
  FakeTarget target;
  auto made = elaborate_scripts({"probe some.thing { } probe begin { println(1) }", library}, target);
  EXPECT_THAT(made.messages(), testing::HasSubstr("'some.thing': unknown probe point 'nowhere'"));
  made = elaborate_scripts({"probe some.all { } probe begin { println(1) }", library}, target);
  EXPECT_THAT(made.messages(), testing::HasSubstr("'some.all': unknown probe point 'nowhere'"));
  for (const char* optional : {"some.thing ?", "some.all ?", "some.thing !, begin(1)", "some.* ?"}) {
    made = elaborate_scripts({std::string("probe ") + optional + " { println(2) } probe begin { println(1) }", library}, target);
    EXPECT_TRUE(made.ok()) << optional << made.messages();
  }
  made = elaborate_scripts({"probe mine = nowhere ? { } probe mine { } probe begin { println(1) }", library}, target);
  EXPECT_TRUE(made.ok()) << "the script's own alias says it itself: " << made.messages();
}

TEST(Elaborate, UsersFunctionsComeBeforeTheLibrarys) {
  FakeTarget target;
  auto made = elaborate_scripts({"function strlen(s) { return 7 } probe begin { println(strlen(\"x\")) }"}, target);
  ASSERT_TRUE(made.ok()) << made.messages();
  EXPECT_EQ(made.program.functions.size(), 1u);
}

TEST(Elaborate, NumberOfArgumentsChoosesTheFunction) {
  auto made = elaborate_text(
      "function f(a) { return a } function f(a, b) { return a . b } probe begin { println(f(1)) println(f(\"x\", "
      "\"y\")) }");
  ASSERT_TRUE(made.ok()) << made.messages();
  EXPECT_EQ(made.program.functions.at(0)->type, ValueType::kLong);
  EXPECT_EQ(made.program.functions.at(1)->type, ValueType::kString);
}

TEST(Elaborate, OverridesInitialValues) {
  Program options;
  options.global_overrides = {{"n", "0x10"}, {"s", "12"}};
  auto made = elaborate_text("global n = 3, s = \"x\" probe begin { printdln(\",\", n, s) }", std::move(options));
  ASSERT_TRUE(made.ok()) << made.messages();
  EXPECT_EQ(syntax::as<syntax::Number>(made.global("n").initial)->value, 16);
  EXPECT_EQ(syntax::as<syntax::String>(made.global("s").initial)->value, "12");
}

TEST(Elaborate, DisplaysWhatIsOnlyWritten) {
  auto made = elaborate_text("global c, a, s " + entry("c++; a[$s, $x] = 1; s <<< $x"));
  ASSERT_TRUE(made.ok()) << made.messages();
  ASSERT_EQ(made.program.probes.size(), 2u);
  std::string body = syntax::to_source(*made.program.probes[1].body);
  EXPECT_THAT(body, HasSubstr("printf(\"c=%#d\\n\", c)"));
  EXPECT_THAT(body, HasSubstr("a[\\\"%#s\\\",%#d]=%#d"));
  EXPECT_THAT(body, HasSubstr("s @count=%#d @min=%#d @max=%#d @sum=%#d @avg=%#d"));
  EXPECT_EQ(made.sharing("c"), Sharing::kSharded);
}

TEST(Elaborate, FoldsConstantsAndDeadBranches) {
  auto made = elaborate_text(
      "function never() { return 1 } probe begin { if (2 * 3 == 6 && \"a\" < \"b\") println(1 << 4); else "
      "println(never()) }");
  ASSERT_TRUE(made.ok()) << made.messages();
  EXPECT_TRUE(made.program.functions.empty());
  EXPECT_THAT(syntax::to_source(*made.program.probes[0].body), HasSubstr("println(16)"));
}

TEST(Elaborate, UnoptimizedKeepsEverything) {
  Program options;
  options.unoptimized = true;
  auto made = elaborate_text("global unused function never() { return 1 } probe begin { println(1 + 1); 5 }", std::move(options));
  ASSERT_TRUE(made.ok()) << made.messages();
  EXPECT_EQ(made.program.functions.size(), 1u);
  EXPECT_EQ(made.program.globals.size(), 1u);
  EXPECT_EQ(made.sharing("unused"), Sharing::kUnused);
  EXPECT_THAT(syntax::to_source(*made.program.probes[0].body), HasSubstr("1 + 1"));
}

TEST(Elaborate, TimesItsPasses) {
  auto made = elaborate_text("probe begin { exit() }");
  ASSERT_GT(made.timings.size(), 10u);
  EXPECT_EQ(made.timings[0].name, "gather-library");
}

}  // namespace
}  // namespace spile::sema
