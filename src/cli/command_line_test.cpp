#include "cli/command_line.h"

#include <gtest/gtest.h>

namespace spile::cli {
namespace {

CommandLine read(std::vector<std::string> words) {
  words.insert(words.begin(), "spile");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return read_command_line(static_cast<int>(words.size()), argv.data());
}

TEST(CommandLine, TakesSystemTapsConventions) {
  CommandLine line = read({"-vv", "-p4", "-DMAXACTION=5", "-G", "x=3", "-I", "a", "-I", "b", "-c", "ls -l", "script.stp", "one", "two"});
  ASSERT_FALSE(line.leave);
  EXPECT_EQ(line.options.verbosity, 2);
  EXPECT_EQ(line.options.last_pass, 4);
  EXPECT_EQ(line.options.limits, std::vector<std::string>{"MAXACTION=5"});
  EXPECT_EQ(line.options.library_folders, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(line.options.command, "ls -l");
  EXPECT_EQ(line.options.script_file, "script.stp");
  EXPECT_EQ(line.options.arguments, (std::vector<std::string>{"one", "two"}));
}

TEST(CommandLine, TakesTheScriptFromTheLine) {
  CommandLine line = read({"-e", "probe begin { exit() }", "7"});
  ASSERT_FALSE(line.leave);
  EXPECT_EQ(line.options.script_text, "probe begin { exit() }");
  EXPECT_EQ(line.options.arguments, std::vector<std::string>{"7"});
}

TEST(CommandLine, RefusesWithStatus1) {
  EXPECT_EQ(read({}).leave, 1);
  EXPECT_EQ(read({"--no-such"}).leave, 1);
  EXPECT_EQ(read({"-p6", "a.stp"}).leave, 1);
  EXPECT_EQ(read({"-x", "0", "a.stp"}).leave, 1);
  EXPECT_EQ(read({"-x", "abc", "a.stp"}).leave, 1);
  EXPECT_EQ(read({"-x", "1", "-c", "ls", "a.stp"}).leave, 1);
  EXPECT_EQ(read({"-m", "name", "a.stp"}).leave, 1);
}

TEST(CommandLine, HelpAndVersionLeaveWithStatus0) {
  EXPECT_EQ(read({"--help"}).leave, 0);
  EXPECT_EQ(read({"--version"}).leave, 0);
}

}  // namespace
}  // namespace spile::cli
