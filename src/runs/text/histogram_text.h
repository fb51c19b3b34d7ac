#pragma once
// Makes the text of a histogram from a record's buckets, in one of two forms: SystemTap's (runtime/histogram.h), and with ranges
// and a summary where the script gives a unit:
//
//            ns      count      %
//     n=268,211 min=96 p50=181 p99=1.1K p99.9=2.9K max=6.3M
//     [64, 128)      1,204   0.4 |
//    [128, 256)    120,000  44.7 |@@@@@@@@@@@@@@@@@

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "abi/aggregate.h"
#include "syntax/output_format.h"

namespace spile::runs {

// Returns the histogram's rows, each with its newline. buckets: as abi/aggregate.h lays them out. REQUIRES: as many as the format
// has.
std::string histogram_text(const syntax::OutputFormat& format, std::span<const uint64_t> buckets);

// A logarithmic histogram: bucket kZeroBucket has the value 0, those behind it [2^n, 2^(n+1)) from n = 0 on, those before it the
// same below 0.
inline constexpr size_t kLogHistogramBuckets = abi::kLogBuckets, kZeroBucket = kLogHistogramBuckets / 2;

// What is printed above the rows. All of it may be wrong where a traced process has written to the arena; any values are printed.
struct HistogramSummary {
  abi::Aggregate aggregate;  // its count, min and max
  std::array<int64_t, std::size(syntax::kSummaryPercents)> percentiles;
};
// Returns the head, the summary, and a row for each bucket from the first to the last that is not empty; three and more empty
// ones between are a row with "~". Bounds of ranges that are powers of two from 1,024 on have the letters K, M, G, T, P and E,
// which are powers of 1,024 there; in the summary they are powers of 1,000.
std::string summarized_histogram_text(const syntax::OutputFormat& format, const HistogramSummary& summary,
                                      std::span<const uint64_t> buckets);
// The same of a logarithmic histogram. unit: the head of the ranges.
std::string log_histogram_text(const std::string& unit, const HistogramSummary& summary, std::span<const uint64_t> buckets);

}  // namespace spile::runs
