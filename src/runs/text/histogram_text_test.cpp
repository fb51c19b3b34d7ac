#include "runs/text/histogram_text.h"

#include <gtest/gtest.h>

#include "abi/aggregate.h"

namespace spile::runs {
namespace {

syntax::OutputFormat log_format() {
  syntax::OutputFormat format{};
  format.kind = syntax::OutputFormat::Kind::kHistogram;
  format.is_log = true;
  return format;
}

TEST(HistogramText, ShowsTwoEmptyBucketsAroundAndCutsLongGaps) {
  std::vector<uint64_t> buckets(abi::kLogBuckets);
  buckets[64 + 3] = 2;   // value 4
  buckets[64 + 11] = 1;  // value 1024
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
  syntax::OutputFormat format{};
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

TEST(SummarizedHistogram, HasRangesSharesAndPercentiles) {
  syntax::OutputFormat format = log_format();
  format.has_summary = true;
  format.unit = "ns";
  std::vector<uint64_t> buckets(abi::kLogBuckets);
  buckets[64] = 1;
  buckets[64 + 7] = 1204;   // [64, 128)
  buckets[64 + 11] = 2408;  // [1024, 2048)
  buckets[64 + 16] = 0;
  buckets[64 + 21] = 1;  // [1M, 2M)
  HistogramSummary summary{};
  summary.aggregate.count = 3614;
  summary.aggregate.min = 0;
  summary.aggregate.max = 1999999;
  summary.percentiles = {999, 1099, 6312044};
  EXPECT_EQ(summarized_histogram_text(format, summary, buckets),
            "          ns  count      %\n"
            "n=3,614 min=0 p50=999 p99=1.1K p99.9=6.3M max=2.0M\n"
            "           0      1    0.0 |\n"
            "           ~\n"
            "   [64, 128)  1,204   33.3 |@@@@@@@@@@@@@@@@@@@@\n"
            "           ~\n"
            "    [1K, 2K)  2,408   66.6 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
            "           ~\n"
            "    [1M, 2M)      1    0.0 |\n\n");
}

TEST(SummarizedHistogram, NamesTheEndsOfALinearOne) {
  syntax::OutputFormat format{};
  format.kind = syntax::OutputFormat::Kind::kHistogram;
  format.low = -10;
  format.high = 10;
  format.width = 10;
  format.has_summary = true;
  std::vector<uint64_t> buckets = {1, 0, 2, 1, 1};
  HistogramSummary summary{};
  summary.aggregate.count = 5;
  summary.aggregate.min = -2048;
  summary.aggregate.max = INT64_MAX;
  summary.percentiles = {3, 4, INT64_MIN};
  EXPECT_EQ(summarized_histogram_text(format, summary, buckets),
            "            count      %\n"
            "n=5 min=-2.0K p50=3 p99=4 p99.9=-9.2E max=9.2E\n"
            " below -10      1   20.0 |@@@@@@@@@@@@@@@@@@@@\n"
            "  [-10, 0)      0    0.0 |\n"
            "   [0, 10)      2   40.0 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
            "  [10, 20)      1   20.0 |@@@@@@@@@@@@@@@@@@@@\n"
            "from 20 on      1   20.0 |@@@@@@@@@@@@@@@@@@@@\n\n");
}

TEST(SummarizedHistogram, PrintsAnyNumbers) {
  syntax::OutputFormat format = log_format();
  format.has_summary = true;
  std::vector<uint64_t> buckets(abi::kLogBuckets, UINT64_MAX);
  HistogramSummary summary{};
  summary.aggregate.count = UINT64_MAX;
  EXPECT_NE(summarized_histogram_text(format, summary, buckets), "");
  EXPECT_EQ(summarized_histogram_text(format, summary, std::vector<uint64_t>(abi::kLogBuckets)), "");
}

}  // namespace
}  // namespace spile::runs
