#include "runs/stacks/page_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spile::runs {
namespace {

TEST(PageText, FillsPartsInAndLooksAtNoneOfTheirText) {
  EXPECT_EQ(fill_page("<{{a}}|{{b}}|{{a}}>", {{"a", "{{b}}\n"}, {"b", "\n\n"}}), "<{{b}}|\n|{{b}}>");
  EXPECT_EQ(fill_page("no parts", {}), "no parts");
}

TEST(PageText, HasTheSharedPartsWhole) {
  const std::string page = fill_page("{{page.css}}\n{{flame.html}}\n{{flame.js}}\n", {});
  EXPECT_THAT(page, testing::StartsWith("body {"));
  EXPECT_THAT(page, testing::HasSubstr("<div id=\"graph\"></div>"));
  EXPECT_THAT(page, testing::EndsWith("draw();\n"));
}

TEST(PageTextDeathTest, KnowsEachName) { EXPECT_DEATH(fill_page("{{no such part}}", {}), "does not hold"); }

}  // namespace
}  // namespace spile::runs
