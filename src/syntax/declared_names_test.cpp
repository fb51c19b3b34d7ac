#include "syntax/declared_names.h"

#include <gtest/gtest.h>

namespace spile::syntax {
namespace {

std::string join(const std::vector<std::string_view>& names) {
  std::string all;
  for (std::string_view name : names) all += (all.empty() ? "" : " ") + std::string(name);
  return all;
}

TEST(DeclaredNames, FindsEveryKindOfDeclaration) {
  DeclaredNames found = scan_declarations(
      "global a, b = 1, c[10], d%[0x20], e = \"x, f\"\n"
      "function one:long (x:long) { return x }\n"
      "function two() %{ function three() { } %}\n"
      "probe net.open = kernel.function(\"f\") { y = 1 }\n"
      "probe x.a, x.b += begin {}\n"
      "@define MACRO(p) %( @p %)\n");
  EXPECT_EQ(join(found.globals), "a b c d e");
  EXPECT_EQ(join(found.functions), "one two");
  EXPECT_EQ(join(found.alias_heads), "net.open x.a x.b");
  EXPECT_EQ(join(found.macros), "MACRO");
}

TEST(DeclaredNames, LeavesOutWhatIsPrivate) {
  DeclaredNames found = scan_declarations("private global a, b\nprivate function f() {}\nprivate c\nglobal d");
  EXPECT_EQ(join(found.globals), "d");
  EXPECT_EQ(join(found.functions), "");
}

TEST(DeclaredNames, KeepsIntrinsicsApart) {
  DeclaredNames found = scan_declarations(
      "function a:long (s:string) %{ /* intrinsic */ %}\nfunction b() { return 1 }\nfunction c() %{ /* pure */ %}");
  EXPECT_EQ(join(found.intrinsics), "a");
  EXPECT_EQ(join(found.functions), "b c");
}

TEST(DeclaredNames, IsNotMisledByTextThatLooksLikeOne) {
  DeclaredNames found = scan_declarations(
      "# function a() {}\n// global b\n/* probe c = d {} */\n"
      "probe kernel.function(\"e\") if (x == 1), process.function(\"f\") { $global->probe = \"function g\"; n = $# }\n"
      "probe kernel.{function,statement}(\"h\") { x = 1 }");
  EXPECT_EQ(join(found.globals), "");
  EXPECT_EQ(join(found.functions), "");
  EXPECT_EQ(join(found.alias_heads), "");
}

TEST(DeclaredNames, SeesBothBranchesOfAConditionAndSurvivesBrokenText) {
  EXPECT_EQ(join(scan_declarations("%( kernel_v > \"3\" %? function a() {} %: function b() {} %)").functions), "a b");
  EXPECT_EQ(join(scan_declarations("function").functions), "");
  EXPECT_EQ(join(scan_declarations("\"unterminated\nfunction f() {").functions), "f");
  EXPECT_EQ(join(scan_declarations("%{ never closed").functions), "");
  EXPECT_EQ(join(scan_declarations("probe a.b").alias_heads), "");
}

TEST(DeclaredNames, GoesOnBehindBodies) {
  EXPECT_EQ(join(scan_declarations("function a() { if (x) { y = \"}\" # }\n /* } */ // }\n z = 4 % 3 / $# } }\nfunction b() {}")
                     .functions),
            "a b");
  EXPECT_EQ(join(scan_declarations("probe x = y { %{ } %} n++ } probe z = y {}").alias_heads), "x z");
  EXPECT_EQ(
      join(scan_declarations("function a() { %( kernel_v > \"3\" %? if (x) { %: if (y) { %) z } }\nfunction b() {}").functions),
      "a b");
  EXPECT_EQ(join(scan_declarations("@define OPEN %( { %)\nfunction a() {}").functions), "a");
  EXPECT_EQ(join(scan_declarations("@define OPEN %( { %)\nfunction a() { x }\nfunction b() {}").functions), "a b");
}

TEST(DeclaredNames, FindsUsesOfMacros) {
  EXPECT_EQ(join(scan_macro_uses("x = @one(@two) . \"@three\" # @four\n@1 @$")), "one two");
}

}  // namespace
}  // namespace spile::syntax
