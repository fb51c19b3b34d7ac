#include "syntax/preprocessor.h"

#include <gtest/gtest.h>

#include "syntax/tree_shape_test.h"

namespace spile::syntax {
namespace {

ParseOptions options() {
  ParseOptions options;
  options.arguments = {"foo + 1", "two words", "7"};
  options.kernel_release = "6.1.0-30-amd64";
  options.kernel_config = [](std::string_view name) -> std::string {
    return name == "CONFIG_BPF" ? "y" : name == "CONFIG_HZ" ? "250" : "";
  };
  return options;
}

bool holds(const std::string& condition) {
  std::string shape = expression_shape("%( " + condition + " %? yes %: no %)", options());
  EXPECT_TRUE(shape == "yes" || shape == "no") << condition << "\n" << shape;
  return shape == "yes";
}

std::string with_error(const std::string& text) { return errors(text, options()); }

TEST(Conditions, CompareVersionsByTheirNumbers) {
  EXPECT_TRUE(holds("kernel_v >= \"5.10\""));
  EXPECT_TRUE(holds("kernel_v < \"6.10\""));
  EXPECT_TRUE(holds("kernel_v == \"6.1.0\""));
  EXPECT_TRUE(holds("kernel_vr == \"6.1.0-30-amd64\""));
  EXPECT_TRUE(holds("kernel_vr == \"6.1.*\""));
  EXPECT_FALSE(holds("kernel_v != \"6.*\""));
  EXPECT_TRUE(holds("systemtap_v >= \"1.0\""));
}

TEST(Conditions, KnowTheSystem) {
  EXPECT_TRUE(holds("arch == \"x86_64\""));
  EXPECT_TRUE(holds("arch == \"x86*\""));
  EXPECT_TRUE(holds("runtime == \"inproc\""));
  EXPECT_TRUE(holds("guru_mode == 0"));
  EXPECT_TRUE(holds("systemtap_privilege == \"stapdev\""));
  EXPECT_TRUE(holds("CONFIG_BPF == \"y\""));
  EXPECT_TRUE(holds("CONFIG_HZ >= 100"));
  EXPECT_FALSE(holds("CONFIG_NONE == \"y\""));
  for (const char* zero : {"0", "\"0\"", "\"\""}) {
    EXPECT_TRUE(holds(std::string("CONFIG_NONE == ") + zero)) << zero;
    EXPECT_FALSE(holds(std::string("CONFIG_NONE != ") + zero)) << zero;
  }
  EXPECT_FALSE(holds("CONFIG_NONE > \"0\""));
  EXPECT_FALSE(holds("CONFIG_NONE == \"n\""));
  EXPECT_FALSE(holds("CONFIG_BPF == 0"));
}

TEST(Conditions, CompareNumbersAsNumbers) {
  EXPECT_TRUE(holds("CONFIG_HZ < 1000"));
  EXPECT_TRUE(holds("CONFIG_HZ < \"1000\""));
  EXPECT_TRUE(holds("CONFIG_HZ == 0xfa"));
  EXPECT_TRUE(holds("CONFIG_HZ == \"25*\""));
  EXPECT_TRUE(holds("10 > 9"));
}

TEST(Conditions, JoinComparisonsAndBindsTighter) {
  EXPECT_TRUE(holds("1 == 1 || 1 == 2 && 1 == 2"));
  EXPECT_FALSE(holds("1 == 2 && 1 == 1 || 3 == 4"));
  EXPECT_TRUE(holds("\"abc\" < \"abd\""));
  EXPECT_TRUE(holds("-2 < 1"));
  EXPECT_TRUE(holds("$# == 3 && @2 == \"two words\" && $3 == 7"));
}

TEST(Conditions, MayStandAnywhereAndNest) {
  EXPECT_EQ(statement_shape("a %( 1 == 1 %? + %( 2 == 1 %? b %: c %) %) * d"), "(+ a (* c d))");
  EXPECT_EQ(statement_shape("x %( 1 == 2 %? = 1 %) ;"), "x");
  EXPECT_EQ(statement_shape("x %( 1 == 2 %? = 1 %: %( 1 == 1 %? = 3 %: = 4 %) %)"), "(= x 3)");
  Parsed parsed("probe %( 1 == 1 %? a %: b %).c { }");
  EXPECT_EQ(shape(parsed.script), "probe a.c {}\n");
}

TEST(Conditions, HideMistakesInWhatTheyExclude) {
  EXPECT_EQ(statement_shape("x = %( 1 == 2 %? 99999999999999999999 ` $9 @nothing %: 1 %)"), "(= x 1)");
  EXPECT_EQ(errors("%( 1 == 2 %? %{ C %} %)"), "");
}

TEST(Conditions, RefuseWhatIsNone) {
  EXPECT_EQ(with_error("%( kernelv == \"1\" %? %)"), "1:4: unknown name 'kernelv' in the condition");
  EXPECT_EQ(with_error("%( arch < \"x\" %? %)"), "1:9: this name can only be compared with == and !=");
  EXPECT_EQ(with_error("%( 1 == \"x\" %? %)"), "1:6: a string can't be compared with a number");
  EXPECT_EQ(with_error("%( guru_mode == \"x\" %? %)"), "1:14: a string can't be compared with a number");
  EXPECT_EQ(with_error("%( 1 == 1 %)"), "1:11: expected '%?' after the condition");
  EXPECT_EQ(with_error("%( 1 %? %)"), "1:6: expected a comparison (== != < > <= >=) in the condition");
  EXPECT_EQ(with_error("%( %? %)"), "1:4: expected a name, a string or a number in the condition");
  EXPECT_EQ(with_error("%( \"6\" == kernel_v %? %)"),
            "1:8: write the name on the left of the comparison, and the string on the right");
  EXPECT_EQ(with_error("%( 1 == 1 && %? %)"), "1:14: expected a name, a string or a number in the condition");
}

TEST(Conditions, MustBeClosed) {
  EXPECT_EQ(with_error("%( 1 == 1 %? global a"), "1:1: this %( is never closed");
  EXPECT_EQ(with_error("%( 1 == 2 %? global a"), "1:1: this %( is never closed");
  EXPECT_EQ(with_error("%( 1 == 1 %? global a %: %( %)"), "1:1: this %( is never closed");
  EXPECT_EQ(with_error("global a %)"), "1:10: '%)' without a '%( condition %?' before it");
  EXPECT_EQ(with_error("global a %: x"),
            "1:10: '%:' without a '%( condition %?' before it\n1:13: expected ',' between the names of globals, found 'x'");
  EXPECT_EQ(with_error("%( 1 == 1 %? global a %: %: %)"), "1:26: a second '%:' in this condition");
  EXPECT_EQ(with_error("%( 1 == 2 %? global a %: %: %)"), "1:26: '%:' without a '%( condition %?' before it");
}

TEST(Arguments, ArePastedAsTokensOrStrings) {
  EXPECT_EQ(expression_shape("x = $1 * 2", options()), "(= x (+ foo (* 1 2)))");
  EXPECT_EQ(expression_shape("x = @1", options()), "(= x 'foo + 1')");
  EXPECT_EQ(expression_shape("f($#, @#)", options()), "(call f)(3 '3')");
  EXPECT_EQ(expression_shape("x = \"$1\"", options()), "(= x '$1')");
  EXPECT_EQ(expression_shape("x = \"a\" @3 \"b\"", options()), "(= x 'a7b')");
  Parsed parsed("probe process(@2).function(@1), timer.ms($3) { }", options());
  EXPECT_EQ(shape(parsed.script), "probe process('two words').function('foo + 1'), timer.ms(7) {}\n");
}

TEST(Arguments, MayHoldAWholeScript) {
  ParseOptions with_script;
  with_script.arguments = {"probe begin { exit() }"};
  Parsed parsed("$1", with_script);
  EXPECT_EQ(shape(parsed.script), "probe begin {(call exit)()}\n");
}

TEST(Arguments, ReportTheirMistakesAtTheUse) {
  EXPECT_EQ(with_error("probe begin { x = $4 }"), "1:19: script argument $4 is missing: 3 were given");
  EXPECT_EQ(errors("probe begin { x = @1 }"), "1:19: script argument @1 is missing: none was given");
  EXPECT_EQ(errors("probe begin { x = $99999999999999999999 }"),
            "1:19: script argument $99999999999999999999 is missing: none was given");
  ParseOptions bad;
  bad.arguments = {"1 + \"x"};
  std::string out = rendered("probe begin { x = $1 }", bad);
  EXPECT_NE(out.find("t.stp:1:19: error: this string is never closed"), std::string::npos) << out;
  EXPECT_NE(out.find("of script argument $1"), std::string::npos) << out;
}

TEST(Arguments, AreNotForLibraries) {
  ParseOptions library = options();
  library.is_library = true;
  EXPECT_EQ(errors("probe begin { x = $1 }", library), "1:19: a library can't use script arguments");
}

TEST(Arguments, ThatPasteThemselvesEnd) {
  ParseOptions endless;
  endless.arguments = {"$1 $1"};
  EXPECT_EQ(errors("probe begin { $1 }", endless), "1:15: macros and arguments nest too deeply here");
}

TEST(Macros, ExpandWithTheirArguments) {
  EXPECT_EQ(statement_shape("@define one %( 1 %) x = @one + 2"), "(= x (+ 1 2))");
  EXPECT_EQ(statement_shape("@define add(a, b) %( (@a + @b) %) x = @add(f(1, 2), [k] in c) * 3"),
            "(= x (* (+ (call f)(1 2) (in k c)) 3))");
  EXPECT_EQ(statement_shape("@define none() %( 4 %) x = @none()"), "(= x 4)");
  EXPECT_EQ(statement_shape("@define if(c) %( @c %) x = @if(1)"), "(= x 1)");
  Parsed parsed("@define where %( process(\"x\") %) probe @where.function(\"f\") { }");
  EXPECT_EQ(shape(parsed.script), "probe process('x').function('f') {}\n");
}

TEST(Macros, SeeOnlyTheirOwnParameters) {
  EXPECT_EQ(statement_shape("@define in(x) %( @x + 1 %) @define out(x) %( @in(@x * 2) %) y = @out(3)"), "(= y (+ (* 3 2) 1))");
  EXPECT_EQ(statement_shape("@define m(x) %( @x %) y = @m(@m(@m(5)))"), "(= y 5)");
  EXPECT_EQ(errors("@define in %( @x %) @define out(x) %( @in %) probe begin { y = @out(1) }"),
            "1:64: unknown operator or macro '@x'");
}

TEST(Macros, DecideConditionsWhereTheyAreUsed) {
  EXPECT_EQ(statement_shape("@define pick(n) %( %( @n == 1 %? a %: b %) %) @pick(1) @pick(2)"), "a b");
}

TEST(Macros, MayTakeScriptArguments) { EXPECT_EQ(expression_shape("@define m %( $1 %) x = @m", options()), "(= x (+ foo 1))"); }

TEST(Macros, RefuseWrongUse) {
  EXPECT_EQ(errors("@define m(a) %( %) probe begin { @m }"), "1:34: macro @m takes 1 argument in parentheses");
  EXPECT_EQ(errors("@define m(a, b) %( 1 %) probe begin { @m(1) 2 }"), "1:39: macro @m takes 2 arguments, not 1");
  EXPECT_EQ(errors("@define m() %( 1 %) probe begin { @m(1) }"), "1:35: macro @m takes 0 arguments, not 1");
  EXPECT_EQ(errors("@define m(a) %( 1 %) probe begin { @m(1"),
            "1:36: the arguments of macro @m are never closed\n"
            "1:40: expected '}' at the end of the block, found the end of the script");
  EXPECT_EQ(errors("probe begin { @nosuch(1) }"), "1:15: unknown operator or macro '@nosuch'");
}

TEST(Macros, RefuseWrongDefinitions) {
  EXPECT_EQ(errors("@define"), "1:1: expected a macro's name after @define");
  EXPECT_EQ(errors("@define 3 %( %)"), "1:9: expected a macro's name after @define");
  EXPECT_EQ(errors("@define m global x"), "1:11: expected '%(' and the body of macro @m");
  EXPECT_EQ(errors("@define m %( 1"), "1:11: the body of macro @m is never closed");
  EXPECT_EQ(errors("@define m(a, a) %( %)"), "1:14: macro @m has two parameters 'a'");
  EXPECT_EQ(errors("@define m %( 1 %) @define m %( 2 %)"), "1:27: macro @m is defined twice");
  EXPECT_EQ(errors("@define cast %( 1 %)"), "");  // a warning
  EXPECT_EQ(errors("@define m %( @define n %( %) %)"), "1:14: a macro can't define a macro");
}

TEST(Macros, DoNotExpandForEver) {
  EXPECT_EQ(errors("@define m %( @m %) probe begin { @m }"), "1:34: macro @m expands to itself");
  EXPECT_EQ(errors("@define a %( @b %) @define b %( @a %) probe begin { @a }"), "1:53: macro @a expands to itself");
  EXPECT_EQ(errors("@define a(x) %( @x %) @define b %( @a(@b) %) probe begin { @b }"), "1:60: macro @b expands to itself");
}

TEST(Macros, ThatDoubleThirtyTimesAreStopped) {
  std::string text = "@define m0 %( x %)\n";
  for (int i = 1; i < 40; ++i) {
    std::string previous = "@m" + std::to_string(i - 1);
    text += "@define m" + std::to_string(i) + " %( " + previous + " " + previous + " %)\n";
  }
  EXPECT_EQ(errors(text + "probe begin { @m39 }"), "41:15: macros expand to too many tokens");
}

TEST(Macros, SayWhereTheirMistakesComeFrom) {
  std::string out = rendered("@define m(a) %( f(@a,, 1) %)\nprobe begin { @m(1) }");
  EXPECT_NE(out.find("t.stp:2:15: error: expected an expression, found ','"), std::string::npos) << out;
  EXPECT_NE(out.find("t.stp:1:22: note: in the expansion of macro @m"), std::string::npos) << out;
}

TEST(MacroLibraries, AreSeenByScriptsAndHiddenByTheirOwn) {
  SourceFile file("lib.stpm", "@define task(x) %( @cast(@x, \"task_struct\") %)\n@define v %( 1 %)");
  Diagnostics diagnostics;
  MacroLibrary library;
  parse_macros(file, {}, diagnostics, library);
  ASSERT_EQ(diagnostics.render(), "");
  ParseOptions with_library;
  with_library.macros = &library;
  EXPECT_EQ(expression_shape("@task(p)->pid", with_library), "(@cast p 'task_struct' .pid)");
  EXPECT_EQ(expression_shape("@define v %( 2 %) x = @v", with_library), "(= x 2)");
}

TEST(MacroLibraries, HaveVariablesOfTheirOwnInEachExpansion) {
  SourceFile file("lib.stpm", "@define m(x) %( (__local_a = @x) + __local_a %)");
  Diagnostics diagnostics;
  MacroLibrary library;
  parse_macros(file, {}, diagnostics, library);
  ParseOptions with_library;
  with_library.macros = &library;
  EXPECT_EQ(expression_shape("@m(__local_a) * @m(2)", with_library),
            "(+ (+ (= __local_a_1 __local_a) (* __local_a_1 (= __local_a_2 2))) __local_a_2)");
  EXPECT_EQ(expression_shape("@define m(x) %( (__local_a = @x) %) @m(1)", with_library), "(= __local_a 1)");
}

TEST(MacroLibraries, HoldNothingElse) {
  SourceFile file("lib.stpm", "@define v %( 1 %) global x");
  SourceFile again("again.stpm", "@define v %( 2 %)");
  Diagnostics diagnostics;
  MacroLibrary library;
  parse_macros(file, {}, diagnostics, library);
  parse_macros(again, {}, diagnostics, library);
  std::string out = diagnostics.render();
  EXPECT_NE(out.find("lib.stpm:1:19: error: a file of macros (.stpm) can hold only macros (@define)"), std::string::npos) << out;
  EXPECT_NE(out.find("again.stpm:1:9: error: macro @v is defined twice"), std::string::npos) << out;
}

}  // namespace
}  // namespace spile::syntax
