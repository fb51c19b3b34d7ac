#include "editor/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "syntax/parser.h"

namespace spile::editor {
namespace {

using ::testing::ElementsAre;

// The context at the '|' of a script.
Context at_mark(std::string script) {
  size_t mark = script.find('|');
  script.erase(mark, 1);
  return context_at(script, mark);
}

std::vector<std::string> completed(std::string script, const WorldQueries& world = {}) {
  size_t mark = script.find('|');
  script.erase(mark, 1);
  Catalogue language = Catalogue::of_language();
  std::vector<std::string> words;
  for (const Candidate& candidate : complete(script, mark, {&language}, world)) words.push_back(candidate.text);
  return words;
}

TEST(Context, IsCodeInsideBodies) {
  EXPECT_EQ(at_mark("probe begin { pri| }").kind, Context::Kind::kCode);
  EXPECT_EQ(at_mark("probe begin { pri| }").word, "pri");
  EXPECT_EQ(at_mark("function f() { if (x) { @cou| } }").word, "@cou");
  EXPECT_EQ(at_mark("probe a.return { $x|").word, "$x");
  EXPECT_EQ(at_mark("probe a.return, b { $x|").probe_point, "a.return");
  EXPECT_EQ(at_mark("probe x = process(\"/p\").function(\"f\") ? { $|").probe_point, "process(\"/p\").function(\"f\")");
}

TEST(Context, IsAPointBetweenKeywordAndBody) {
  EXPECT_EQ(at_mark("probe |").kind, Context::Kind::kPoint);
  EXPECT_EQ(at_mark("probe timer.|").word, "timer.");
  EXPECT_EQ(at_mark("probe begin, timer.m| {").word, "timer.m");
  EXPECT_EQ(at_mark("probe process(\"/bin/x\").function(\"ma|").word, "process(\"/bin/x\").function(\"ma");
  EXPECT_EQ(at_mark("probe a.{b,c} { x| }").kind, Context::Kind::kCode);
}

TEST(Context, IsADeclarationOutsideAndNothingInTexts) {
  EXPECT_EQ(at_mark("probe begin { } gl|").kind, Context::Kind::kDeclaration);
  EXPECT_EQ(at_mark("probe begin { \"pri|").kind, Context::Kind::kNothing);
  EXPECT_EQ(at_mark("probe begin { // pri|").kind, Context::Kind::kNothing);
  EXPECT_EQ(at_mark("probe begin { /* pri|").kind, Context::Kind::kNothing);
  EXPECT_EQ(at_mark("probe begin { println($#, x|").kind, Context::Kind::kCode);
}

TEST(Completion, OffersWhatBeginsSo) {
  EXPECT_THAT(completed("probe begin { prin| }"), ElementsAre("print", "printd", "printdln", "printf", "println"));
  EXPECT_THAT(completed("probe begin { @va| }"), ElementsAre("@var", "@variance"));
  EXPECT_THAT(completed("pr|"), ElementsAre("private", "probe"));
  EXPECT_THAT(completed("probe beg|"), ElementsAre("begin"));
  EXPECT_THAT(completed("probe timer.m|"), ElementsAre("timer.ms"));
  EXPECT_THAT(completed("probe netf|"), ElementsAre("netfilter.hook"));
  EXPECT_THAT(completed("probe perf.t|"), ElementsAre("perf.type.config", "perf.type.config.hz", "perf.type.config.sample"));
  EXPECT_THAT(completed("probe kernel.d|"), ElementsAre("kernel.data.write"));
}

TEST(Completion, AsksTheWorldForNamesAndVariables) {
  WorldQueries world;
  std::string asked;
  world.points = [&](const std::string& pattern) {
    asked = pattern;
    return std::vector<std::string>{"process(\"x\").function(\"main\")"};
  };
  world.variables = [](const std::string& point) {
    return std::vector<std::string>{point == "a.b" ? "$fd:long" : "$other:long"};
  };
  EXPECT_THAT(completed("probe process(\"x\").function(\"m|", world), ElementsAre("process(\"x\").function(\"main\")"));
  EXPECT_EQ(asked, "process(\"x\").function(\"m*\")");
  EXPECT_THAT(completed("probe a.b { x = $f| }", world), ElementsAre("$fd"));
}

TEST(Incomplete, IsWhatIsStillOpen) {
  for (const char* text : {"probe begin {", "probe begin", "function f(a,", "function f()", "probe a = b { /* x", "%{ int x;",
                           "@define m %( 1", "probe begin { f(1,\n"}) {
    EXPECT_TRUE(is_incomplete(text)) << text;
  }
  for (const char* text : {"probe begin { }", "global a, b = 1", "function f(a) { return a }", "println(1)", "",
                           "probe a.{b,c} { }", "function f() %{ %}", "probe begin { \"unclosed }\n }"}) {
    EXPECT_FALSE(is_incomplete(text)) << text;
  }
}

TEST(Comments, AreReadAboveDeclarations) {
  std::string text = "# one\n# two\nfunction f() { }\n\n/**\n * three\n *  four\n */\nfunction g() { }\nglobal a";
  EXPECT_EQ(comment_above(text, text.find("f()")), "one\ntwo");
  EXPECT_EQ(comment_above(text, text.find("g()")), "three\nfour");
  EXPECT_EQ(comment_above(text, text.find("a", text.size() - 1)), "");
}

TEST(Names, AreFoundAroundAPlace) {
  std::string text = "probe timer.ms(5) { foo(@count(x)) }";
  EXPECT_EQ(name_at(text, text.find("oo(")).name, "foo");
  EXPECT_EQ(name_at(text, text.find("ount")).name, "@count");
  EXPECT_EQ(name_at(text, text.find("ms")).name, "timer.ms");
  EXPECT_EQ(name_at(text, text.find(" {")).name, "");
}

}  // namespace
}  // namespace spile::editor
