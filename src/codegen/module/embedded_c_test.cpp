// Embedded C in scripts, in the controller and in handlers of traced processes. Needs clang, as the build does.

#include "codegen/script_runner_test.h"

namespace spile::codegen {
namespace {

sema::Program guru() {
  sema::Program options;
  options.guru = true;
  return options;
}
std::string output_of_guru(const std::string& text) { return output_of(text, guru()); }

TEST(EmbeddedC, PassesArgumentsAndResults) {
  EXPECT_EQ(output_of_guru(R"~(%{ static int twice(int x) { return 2 * x; } %}
    function add:long(a:long, b:long) %{ /* pure */ STAP_RETVALUE = twice(STAP_ARG_a) + STAP_ARG_b; %}
    function old:long(a:long) %{ THIS->__retvalue = THIS->a + 1; %}
    function early:long(x:long) %{ if (STAP_ARG_x > 3) STAP_RETURN(100); STAP_RETURN(STAP_ARG_x - 1); %}
    function hello:string(who:string) %{ snprintf(STAP_RETVALUE, MAXSTRINGLEN, "hello %s %d %5x|%-4d|", STAP_ARG_who, 42, 255, 7); %}
    probe begin { printf("%d %d %d %d\n", add(3, 4), old(1), early(5), early(2)) println(hello("w")) println(%{ 40 + 2 %}) })~"),
            "10 2 100 1\nhello w 42    ff|7   |\n42\n");
}

TEST(EmbeddedC, RaisesScriptErrors) {
  EXPECT_EQ(output_of_guru(R"~(function fails(x:long) %{ if (STAP_ARG_x) STAP_ERROR("bad %d", (int)STAP_ARG_x); %}
    probe begin { fails(0) try { fails(7) } catch (m) { println(m) } fails(8) println("never") })~"),
            "bad 7\nERROR: bad 8\n");
}

TEST(EmbeddedC, ShowsCompilersErrorsAtTheScriptsLines) {
  std::string said = output_of_guru("probe begin { println(f()) }\nfunction f:long() %{\n  STAP_RETVALUE = undefined_thing;\n%}");
  EXPECT_NE(said.find("t.stp:3:19: error: use of undeclared identifier 'undefined_thing'"), std::string::npos) << said;
}

TEST(EmbeddedC, RefusesWhatHandlersCannotHave) {
  EXPECT_NE(output_of_guru("%{\n#include <stdio.h>\n%}\nfunction f() %{ puts(\"x\"); %} probe begin { f() }")
                .find("calls 'puts()', which is not available in handlers"),
            std::string::npos);
  EXPECT_NE(output_of_guru("%{ int counter; %} function f:long() %{ STAP_RETVALUE = counter++; %} probe begin { println(f()) }")
                .find("has the writable variable 'counter'"),
            std::string::npos);
}

TEST(EmbeddedC, NamesTheMissingCompiler) {
  setenv("CLANG", "/nonexistent/clang", 1);
  EXPECT_NE(output_of_guru("function f:long() %{ STAP_RETVALUE = 1; %} probe begin { println(f()) }")
                .find("embedded C needs a C compiler: /nonexistent/clang can't be run"),
            std::string::npos);
  unsetenv("CLANG");
}

}  // namespace
}  // namespace spile::codegen
