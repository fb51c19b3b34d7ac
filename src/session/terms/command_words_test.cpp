#include <gtest/gtest.h>

#include "session/terms/command_words.h"

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

TEST(CommandWords, ThatNeedAShellGetOne) {
  for (const char* command : {"ls | wc", "a; b", "echo $HOME", "ls *.c", "(a)", "a > b", "~/a", "a\nb", "cd /", "exit 3", "X=1 a"}) {
    EXPECT_EQ(command_words(command), by_shell(command)) << command;
  }
}

TEST(CommandWords, QuotedSpecialCharactersNeedNoShell) {
  EXPECT_EQ(command_words("echo 'a | b' '$x'"), (Words{"echo", "a | b", "$x"}));
  EXPECT_EQ(command_words("echo \"$x\""), by_shell("echo \"$x\"")) << "a shell replaces it there";
}

TEST(CommandWords, WithAnOpenQuoteAreLeftToTheShell) { EXPECT_EQ(command_words("echo 'a"), by_shell("echo 'a")); }

TEST(CommandWords, OfABlankCommandAreNotEmpty) { EXPECT_EQ(command_words("  "), by_shell("  ")); }

}  // namespace
}  // namespace spile::session
