#include "base/text/terminal_text.h"

#include <gtest/gtest.h>

namespace spile {
namespace {

std::string shown(std::initializer_list<std::string_view> pieces) {
  TerminalText terminal;
  std::string out;
  for (std::string_view piece : pieces) terminal.append(out, piece);
  terminal.finish(out);
  return out;
}

TEST(TerminalText, ShowsControlCharacters) {
  EXPECT_EQ(shown({"\x1b]0;title\a"}), "\\033]0;title\\007");
  EXPECT_EQ(shown({"a\r\b\x7f\v"}), "a\\015\\010\\177\\013");
  EXPECT_EQ(shown({std::string_view("\0", 1)}), "\\000");
}

TEST(TerminalText, KeepsNewlinesTabsAndUtf8) {
  EXPECT_EQ(shown({"a\tb\nc"}), "a\tb\nc");
  EXPECT_EQ(shown({"Grüße, 世界 🎉"}), "Grüße, 世界 🎉");
}

TEST(TerminalText, ShowsControlCharactersOfTheUpperHalf) {
  EXPECT_EQ(shown({"\xc2\x9b"
                   "31m"}),
            "\\302\\23331m");  // U+009B: ESC [ in one character
  EXPECT_EQ(shown({"\x9b"
                   "31m"}),
            "\\23331m");
  EXPECT_EQ(shown({"\xc2\xa0"}), "\xc2\xa0");
}

TEST(TerminalText, ShowsWhatTurnsTheDirectionOfTextOrEndsALine) {
  EXPECT_EQ(shown({"a\u202eb\u2066c\u2028d\u061ce\u200ff"}),
            "a\\342\\200\\256b\\342\\201\\246c\\342\\200\\250d\\330\\234e\\342\\200\\217f");
  EXPECT_EQ(shown({"\u200d\u2027\u202f\u2065\u206a\u061b"}), "\u200d\u2027\u202f\u2065\u206a\u061b");  // their neighbors
}

TEST(TerminalText, ShowsWhatIsNotUtf8) {
  EXPECT_EQ(shown({"\xff"}), "\\377");
  EXPECT_EQ(shown({"\xc0\x9b"}), "\\300\\233");  // overlong
  EXPECT_EQ(shown({"\xe0\x80\x9b"}), "\\340\\200\\233");
  EXPECT_EQ(shown({"\xed\xa0\x80"}), "\\355\\240\\200");  // a surrogate
  EXPECT_EQ(shown({"\xe4\x1b"}), "\\344\\033");
  EXPECT_EQ(shown({"\xf0\x9f\x8e"}), "\\360\\237\\216");  // cut off
}

TEST(FirstColumns, CountsWhatATerminalShows) {
  EXPECT_EQ(first_columns("plain", 5), "plain");
  EXPECT_EQ(first_columns("plain", 4), "plai");
  EXPECT_EQ(first_columns("gr\xc3\xbc\xc3\x9f", 4), "gr\xc3\xbc\xc3\x9f") << "a column each";
  EXPECT_EQ(first_columns("a\xe6\x97\xa5\xe6\x9c\xac", 4), "a\xe6\x97\xa5") << "two columns each";
  EXPECT_EQ(first_columns("a\033b", 5), "a\\033");
  EXPECT_EQ(first_columns("a\033b", 4), "a\\03");
  EXPECT_EQ(first_columns("\xff\xe6", 100), "\\377\\346");
  EXPECT_EQ(first_columns("abc", 0), "");
}

TEST(TerminalText, JoinsCharactersThatComeInPieces) {
  EXPECT_EQ(shown({"\xe4", "\xb8", "\x96"}), "世");
  EXPECT_EQ(shown({"\xc2", "\x9b"}), "\\302\\233");
}

}  // namespace
}  // namespace spile
