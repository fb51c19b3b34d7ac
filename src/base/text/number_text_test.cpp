#include "base/text/number_text.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace spile {
namespace {

TEST(NumberText, HasTheWordThatFitsTheNumber) {
  EXPECT_EQ(counted(0, "probe"), "0 probes");
  EXPECT_EQ(counted(1, "probe"), "1 probe");
  EXPECT_EQ(plural(2, "call"), "calls");
  EXPECT_EQ(plural(1, "was", "were"), "was");
}

TEST(NumberText, HasCommasByThousands) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(268211), "268,211");
  EXPECT_EQ(with_commas(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(NumberText, IsShort) {
  EXPECT_EQ(short_number(999), "999");
  EXPECT_EQ(short_number(999'949), "999.9K");
  EXPECT_EQ(short_number(999'950), "1.0M");
  EXPECT_EQ(short_number(INT64_MIN), "-9.2E");
}

TEST(NumberText, TimesHaveThreeDigitsAndAUnit) {
  EXPECT_EQ(time_text(0), "0 ns");
  EXPECT_EQ(time_text(999), "999 ns");
  EXPECT_EQ(time_text(1000), "1.00 us");
  EXPECT_EQ(time_text(12'340), "12.3 us");
  EXPECT_EQ(time_text(999'499), "999 us");
  EXPECT_EQ(time_text(999'500), "1.00 ms");
  EXPECT_EQ(time_text(9'996), "10.0 us");
  EXPECT_EQ(time_text(1'500'000'000), "1.50 s");
  EXPECT_EQ(time_text(3'600'000'000'000), "3600 s");
  EXPECT_EQ(time_text(-2'000), "-2.00 us");
}

}  // namespace
}  // namespace spile
