#include "cli/command_line.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/rc_file.h"

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
  CommandLine line =
      read({"-vv", "-p4", "-DMAXACTION=5", "-G", "x=3", "-I", "a", "-I", "b", "-c", "ls -l", "script.stp", "one", "two"});
  ASSERT_FALSE(line.leave);
  EXPECT_EQ(line.options.messages.verbosity(), 2);
  EXPECT_EQ(line.options.passes.last, 4);
  EXPECT_EQ(line.options.script.limits, std::vector<std::string>{"MAXACTION=5"});
  EXPECT_EQ(line.options.script.library_folders, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(line.options.target.command, "ls -l");
  EXPECT_EQ(line.options.script.file, "script.stp");
  EXPECT_EQ(line.options.script.arguments, (std::vector<std::string>{"one", "two"}));
}

TEST(CommandLine, TakesTheScriptFromTheLine) {
  CommandLine line = read({"-e", "probe begin { exit() }", "7"});
  ASSERT_FALSE(line.leave);
  EXPECT_EQ(line.options.script.text, "probe begin { exit() }");
  EXPECT_EQ(line.options.script.arguments, std::vector<std::string>{"7"});
}

TEST(CommandLine, TakesVerbs) {
  EXPECT_EQ(read({"hist"}).leave, 1);
  EXPECT_EQ(read({"-c", "ls", "hist", "sched:sched_switch"}).leave, 1);
  CommandLine timer = read({"-DMAXACTION=7", "hist", "timer.ms(1)", "keys=cpu"});
  ASSERT_FALSE(timer.leave);
  EXPECT_NE(timer.options.script.text->find("probe timer.ms(1) {"), std::string::npos);
  EXPECT_TRUE(timer.options.script.arguments.empty());
  ASSERT_GT(timer.options.script.limits.size(), 1u);
  EXPECT_EQ(timer.options.script.limits.back(), "MAXACTION=7");  // the user's come last, and hold
  EXPECT_EQ(read({"./hist"}).options.script.file, "./hist");
  EXPECT_EQ(read({"-e", "probe begin {}", "hist"}).options.script.arguments, std::vector<std::string>{"hist"});
}

TEST(CommandLine, RefusesWithStatus1) {
  EXPECT_EQ(read({}).leave, 1);
  EXPECT_EQ(read({"--no-such"}).leave, 1);
  EXPECT_EQ(read({"tops", "f"}).leave, 1);
  EXPECT_EQ(read({"no_such_script"}).leave, 1);
  EXPECT_EQ(read({"-p6", "a.stp"}).leave, 1);
  EXPECT_EQ(read({"-x", "0", "a.stp"}).leave, 1);
  EXPECT_EQ(read({"-x", "abc", "a.stp"}).leave, 1);
}

TEST(CommandLine, MixesOptionsAndArgumentsAsStapDoes) {
  CommandLine line = read({"a.stp", "one", "-w", "--", "-5", "[x]"});
  ASSERT_FALSE(line.leave);
  EXPECT_TRUE(line.options.messages.suppress_warnings);
  EXPECT_EQ(line.options.script.file, "a.stp");
  EXPECT_EQ(line.options.script.arguments, (std::vector<std::string>{"one", "-5", "[x]"}));
}

TEST(CommandLine, TakesAllNumbersBehindXForProcesses) {
  const std::string own = std::to_string(::getpid()), parent = std::to_string(::getppid());
  CommandLine line = read({"-x", own, parent, "-e", "probe end {}", "5"});
  ASSERT_FALSE(line.leave);
  EXPECT_EQ(line.options.target.processes, (std::vector<pid_t>{::getpid(), ::getppid()}));
  EXPECT_EQ(line.options.script.arguments, (std::vector<std::string>{"5"}));
  line = read({"-x", own, "-c", "ls -l", "a.stp"});
  ASSERT_FALSE(line.leave);
  EXPECT_EQ(line.options.target.command, "");
  EXPECT_EQ(line.options.target.workload, "ls -l");
  line = read({"a.stp", "-x", own, "--", "5"});
  ASSERT_FALSE(line.leave);
  EXPECT_EQ(line.options.script.arguments, (std::vector<std::string>{"5"}));
  EXPECT_EQ(read({"-x", "-e", "probe end {}"}).leave, 1);  // pidof has printed nothing
}

TEST(CommandLine, TakesVerbosityByPass) {
  CommandLine line = read({"-v", "--vp", "01203", "a.stp"});
  ASSERT_FALSE(line.leave);
  EXPECT_EQ(line.options.messages.pass_verbosity, (std::array<int, 5>{1, 2, 3, 1, 4}));
}

TEST(CommandLine, TakesSizesAndTimes) {
  CommandLine line =
      read({"-s", "8", "-S", "2,3", "-o", "x", "-T", "1.5", "-m", "probe_one", "--color", "a.stp", "-E", "probe end {}"});
  ASSERT_FALSE(line.leave);
  EXPECT_EQ(line.options.output.ring_megabytes, 8u);
  EXPECT_EQ(line.options.output.rotate_bytes, 2u << 20);
  EXPECT_EQ(line.options.output.rotate_files, 3u);
  EXPECT_EQ(line.options.target.time_limit_ns, 1'500'000'000);
  EXPECT_EQ(line.options.script.module_name, "probe_one");
  EXPECT_EQ(line.options.messages.color, session::Color::kAlways);
}

TEST(CommandLine, RefusesValuesOutOfRange) {
  for (std::vector<std::string> words : std::vector<std::vector<std::string>>{{"-s", "0"},
                                                                              {"-s", "4096"},
                                                                              {"-s", "x"},
                                                                              {"-p", "0"},
                                                                              {"-p", ""},
                                                                              {"-S", "0", "-o", "f"},
                                                                              {"-S", "1,", "-o", "f"},
                                                                              {"-S", "1"},
                                                                              {"-T", "0"},
                                                                              {"-T", "-1"},
                                                                              {"-T", "5x"},
                                                                              {"-m", "a-b"},
                                                                              {"-m", ""},
                                                                              {"-D", "9=1"},
                                                                              {"-D", ""},
                                                                              {"-G", "x"},
                                                                              {"-G", "=1"},
                                                                              {"--vp", "12a"},
                                                                              {"--vp", "000000"},
                                                                              {"--color=blue"},
                                                                              {"--runtime", "x"},
                                                                              {"--privilege", "root"},
                                                                              {"--privilege", "stapusr", "-g"},
                                                                              {"--suppress-time-limits"},
                                                                              {"--compatible", "new"},
                                                                              {"--prologue-searching=maybe"},
                                                                              {"-a", "vax"},
                                                                              {"-r", "0.99"},
                                                                              {"-B", "X=1"},
                                                                              {"-R", "/"},
                                                                              {"--remote=-x"},
                                                                              {"--use-server"},
                                                                              {"--monitor"},
                                                                              {"--guru=1"},
                                                                              {"-e", "a", "-e", "b"},
                                                                              {"-l", "begin"},
                                                                              {"-x"}}) {
    std::vector<std::string> line = words;
    if (words[0] == "-l") line.insert(line.end(), {"-e", "probe begin {}"});
    if (words[0] != "-x") line.push_back("a.stp");
    EXPECT_EQ(read(line).leave, 1) << testing::PrintToString(words);
  }
}

TEST(RcFile, SplitsWordsAsAShellDoes) {
  EXPECT_EQ(*split_words("-v -D 'A B'=1 # no\n \"x \\\" y\" \\\n z''"),
            (std::vector<std::string>{"-v", "-D", "A B=1", "x \" y", "z"}));
  EXPECT_FALSE(split_words("-e 'probe").ok());
}

TEST(CommandLine, HelpAndVersionLeaveWithStatus0) {
  EXPECT_EQ(read({"--help"}).leave, 0);
  EXPECT_EQ(read({"--version"}).leave, 0);
}

}  // namespace
}  // namespace spile::cli
