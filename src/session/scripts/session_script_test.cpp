#include "session/scripts/session_script.h"

#include <gtest/gtest.h>

#include "base/diagnostics.h"
#include "syntax/parser.h"

namespace spile::session {
namespace {

// The script of these arguments, which must parse.
std::string script_of(std::vector<std::string> arguments, const std::string& module_name = "mine") {
  ScriptOptions options;
  options.arguments = std::move(arguments);
  options.module_name = module_name;
  std::string text = session_script(options);
  SourceFiles files;
  Diagnostics diagnostics;
  syntax::parse(files.add("x", text), {}, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render(false) << text;
  return text;
}

TEST(SessionScript, SpellsArgumentsSoThatNothingInThemIsScript) {
  std::string text = script_of({"a\"b\\c", "\n\t\x7f\xff", "$x @y %z"});
  EXPECT_NE(text.find(R"(global argv_1 = "a\"b\\c")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(global argv_2 = "\012\011\177\377")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(global argv_3 = "$x @y %z")"), std::string::npos) << text;
  EXPECT_NE(text.find("global argc = 3\n"), std::string::npos) << text;
}

TEST(SessionScript, MakesArgvOfTheVariablesOfSingleArguments) {
  std::string text = script_of({"a"});
  EXPECT_NE(text.find("global argv_32 = \"\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  argv[1] = argv_1\n  if (argv_2 != \"\")  argv[2] = argv_2\n"), std::string::npos) << text;
  text = script_of(std::vector<std::string>(33, "x"));
  EXPECT_NE(text.find("global argv[34]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  argv[32] = argv_32\n  argv[33] = \"x\"\n"), std::string::npos) << text;
}

TEST(SessionScript, NamesTheModule) {
  EXPECT_NE(script_of({}, "mine").find("function module_name:string () { return \"mine\" }"), std::string::npos);
  EXPECT_NE(script_of({}, "").find("return \"spile_"), std::string::npos) << "a name of its own";
}

TEST(SessionMacros, HaveTheStringLengthThatHolds) {
  ScriptOptions options;
  EXPECT_EQ(session_macros(options), "@define MAXSTRINGLEN %( 512 %)\n");
  options.limits = {"MAXSTRINGLEN=64"};
  EXPECT_EQ(session_macros(options), "@define MAXSTRINGLEN %( 64 %)\n");
}

}  // namespace
}  // namespace spile::session
