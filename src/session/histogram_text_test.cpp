#include "session/histogram_text.h"

#include <gtest/gtest.h>

#include "abi/aggregate.h"

namespace spile::session {
namespace {

codegen::OutputFormat log_format() {
  codegen::OutputFormat format{};
  format.kind = codegen::OutputFormat::Kind::kHistogram;
  format.is_log = true;
  return format;
}

TEST(HistogramText, ShowsTwoEmptyBucketsAroundAndCutsLongGaps) {
  std::vector<uint64_t> buckets(abi::kLogBuckets);
  buckets[64 + 3] = 2;    // value 4
  buckets[64 + 11] = 1;   // value 1024
  EXPECT_EQ(histogram_text(log_format(), buckets),
            "value |-------------------------------------------------- count\n"
            "    1 |                                                   0\n"
            "    2 |                                                   0\n"
            "    4 |@@                                                 2\n"
            "    8 |                                                   0\n"
            "   16 |                                                   0\n"
            "      ~\n"
            "  256 |                                                   0\n"
            "  512 |                                                   0\n"
            " 1024 |@                                                  1\n"
            " 2048 |                                                   0\n"
            " 4096 |                                                   0\n"
            "\n");
}

TEST(HistogramText, ScalesTheLongestBarToFifty) {
  std::vector<uint64_t> buckets(abi::kLogBuckets);
  buckets[65] = 5000;
  buckets[66] = 99;
  std::string text = histogram_text(log_format(), buckets);
  EXPECT_NE(text.find("1 |" + std::string(50, '@') + " 5000\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("@ 99"), std::string::npos) << text;
}

TEST(HistogramText, NamesOutliersOfALinearOneOnlyWhereThereAreSome) {
  codegen::OutputFormat format{};
  format.low = 0;
  format.high = 20;
  format.width = 10;
  std::string text = histogram_text(format, std::vector<uint64_t>{0, 1, 0, 2, 7});
  EXPECT_EQ(text.find("<0"), std::string::npos);
  EXPECT_NE(text.find(">20 |@@@@@@@"), std::string::npos) << text;
}

TEST(HistogramText, ShowsNegativeRowsOnlyForNegativeValues) {
  std::vector<uint64_t> buckets(abi::kLogBuckets);
  buckets[65] = 1;  // value 1
  EXPECT_EQ(histogram_text(log_format(), buckets).find("-1"), std::string::npos);
  buckets[63] = 1;  // value -1
  EXPECT_NE(histogram_text(log_format(), buckets).find("   -4 |"), std::string::npos);
}

TEST(HistogramText, WidensLabelsForTheFirstAndLastRow) {
  std::vector<uint64_t> buckets(abi::kLogBuckets);
  buckets[64 + 20] = 1;
  EXPECT_EQ(histogram_text(log_format(), buckets).substr(0, 11), "  value |--");
}

TEST(HistogramText, IsEmptyWithoutValues) {
  EXPECT_EQ(histogram_text(log_format(), std::vector<uint64_t>(abi::kLogBuckets)), "");
}

}  // namespace
}  // namespace spile::session
