#include "session/terms/command_words.h"

#include <gtest/gtest.h>

namespace spile::session {
namespace {

using Words = std::vector<std::string>;

Words by_shell(const std::string& command) { return {"/bin/sh", "-c", command}; }

TEST(CommandWords, AreSplitAsAShellDoes) {
  EXPECT_EQ(command_words("ls -l"), (Words{"ls", "-l"}));
  EXPECT_EQ(command_words("  ls\t-l  "), (Words{"ls", "-l"}));
  EXPECT_EQ(command_words("echo 'a  b' \"c d\" e\\ f"), (Words{"echo", "a  b", "c d", "e f"}));
  EXPECT_EQ(command_words("echo ''"), (Words{"echo", ""}));
  EXPECT_EQ(command_words("echo \"a\\\"b\\\\c\\d\""), (Words{"echo", "a\"b\\c\\d"}));
}

TEST(CommandWords, TakeAPathForAProgram) {
  EXPECT_EQ(command_words("/a=b/c d"), (Words{"/a=b/c", "d"}));
  EXPECT_EQ(command_words("./a=b"), (Words{"./a=b"}));
  EXPECT_EQ(command_words("./a=b > c"), by_shell("exec ./a=b > c"));
  for (const char* command : {"a=b/c d", "a=/c d", "a=/c d > e"}) EXPECT_EQ(command_words(command), by_shell(command)) << command;
}

TEST(CommandWords, ThatNeedAShellGetOne) {
  for (const char* command : {"ls | wc", "a; b", "(a)", "~/a", "a\nb", "cd / > x", "cd /", "exit 3", "X=1 a", "a &", "if a > b",
                              "$a b", "\"a b\" > c", "a # b"}) {
    EXPECT_EQ(command_words(command), by_shell(command)) << command;
  }
}

TEST(CommandWords, OfOneProgramLeaveNoShellBeside) {
  for (const char* command : {"echo $HOME", "ls *.c", "a > b", "a 'b;c' > \"d|e\" 2>/dev/null", "a < b\\;"}) {
    EXPECT_EQ(command_words(command), by_shell(std::string("exec ") + command)) << command;
  }
  EXPECT_EQ(command_program(" a < b"), "a");
  EXPECT_EQ(command_program("'a b' c"), "a b");
  EXPECT_EQ(command_program("a | b"), "/bin/sh");
  EXPECT_EQ(command_program("/bin/sh -c a"), "/bin/sh");
}

TEST(CommandWords, QuotedSpecialCharactersNeedNoShell) {
  EXPECT_EQ(command_words("echo 'a | b' '$x'"), (Words{"echo", "a | b", "$x"}));
  EXPECT_EQ(command_words("python3 -c \"f(1); g('a')\" a\\;b"), (Words{"python3", "-c", "f(1); g('a')", "a;b"}));
  EXPECT_EQ(command_words("sh -c \"kill \\$\\$ \\`\""), (Words{"sh", "-c", "kill $$ `"}));
  EXPECT_EQ(command_words("echo \"$x\""), by_shell("exec echo \"$x\"")) << "a shell replaces it there";
}

TEST(CommandWords, WithAnOpenQuoteAreLeftToTheShell) { EXPECT_EQ(command_words("echo 'a"), by_shell("exec echo 'a")); }

TEST(CommandWords, OfABlankCommandAreNotEmpty) { EXPECT_EQ(command_words("  "), by_shell("  ")); }

}  // namespace
}  // namespace spile::session
