#include "verbs/terms/script_text.h"

#include <gtest/gtest.h>

namespace spile::verbs {
namespace {

TEST(ScriptText, FillsInValuesAsTheyAre) {
  EXPECT_EQ(script_text("probe @POINT { @entry(x)[@N] }\n", {{"POINT", "@N %( X %?"}, {"N", "3"}}),
            "probe @N %( X %? { @entry(x)[3] }\n");
  EXPECT_EQ(script_text("a % b @ c", {}), "a % b @ c");
}

TEST(ScriptText, ChoosesWithinALine) {
  const char* const file = "global a%( B %?, b[@B]%), c%( B %?%:, d%)\n";
  EXPECT_EQ(script_text(file, {{"B", "7"}}), "global a, b[7], c\n");
  EXPECT_EQ(script_text(file, {{"B", ""}}), "global a, c, d\n");
}

TEST(ScriptText, LeavesNoLinesOfConditions) {
  const char* const file =
      "one\n"
      "%( A %?\n"
      "  two\n"
      "  %( B %?\n"
      "  three @B\n"
      "  %:\n"
      "  four\n"
      "  %)\n"
      "%:\n"
      "five\n"
      "%)\n"
      "six\n";
  EXPECT_EQ(script_text(file, {{"A", "1"}, {"B", "b"}}), "one\n  two\n  three b\nsix\n");
  EXPECT_EQ(script_text(file, {{"A", "1"}, {"B", ""}}), "one\n  two\n  four\nsix\n");
  EXPECT_EQ(script_text(file, {{"A", ""}, {"B", "b"}}), "one\nfive\nsix\n");
}

TEST(ScriptTextDeathTest, NeedsAllNamesAndEnds) {
  EXPECT_DEATH(script_text("@NAME", {}), "");
  EXPECT_DEATH(script_text("%( A %? b", {{"A", "1"}}), "");
  EXPECT_DEATH(script_text("b %)", {}), "");
}

}  // namespace
}  // namespace spile::verbs
