#include "base/text/split.h"

#include <gmock/gmock.h>

namespace spile {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Split, HasEmptyPartsToo) {
  EXPECT_THAT(split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(split(",", ','), ElementsAre("", ""));
  EXPECT_THAT(split("abc", ','), ElementsAre("abc"));
}

TEST(LinesOf, AreThoseOfGetline) {
  EXPECT_THAT(lines_of("a\n\nb"), ElementsAre("a", "", "b"));
  EXPECT_THAT(lines_of("a\n"), ElementsAre("a"));
  EXPECT_THAT(lines_of("a\n\n"), ElementsAre("a", ""));
  EXPECT_THAT(lines_of("\n"), ElementsAre(""));
  EXPECT_THAT(lines_of("a\r\nb"), ElementsAre("a\r", "b"));
  EXPECT_THAT(lines_of(""), IsEmpty());
}

TEST(WordsOf, AreNeverEmpty) {
  EXPECT_THAT(words_of("  a\tbc \n d"), ElementsAre("a", "bc", "d"));
  EXPECT_THAT(words_of(" \t\n"), IsEmpty());
  EXPECT_THAT(words_of(""), IsEmpty());
  EXPECT_THAT(words_of("one"), ElementsAre("one"));
}

}  // namespace
}  // namespace spile
