// Rows as SystemTap prints them: two empty ones on either side of the data (a logarithmic histogram shows none below 0
// on account of that), and of longer empty stretches inside it only two rows at each end, with '~' for the rest.

#include "session/histogram_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "abi/aggregate.h"

namespace spile::session {

namespace {

constexpr uint64_t kBarWidth = 50;
constexpr size_t kElision = 2;  // empty rows shown beside a filled one
constexpr size_t kLogZero = abi::kLogBuckets / 2;

int64_t log_bucket_value(size_t index) {
  if (index == kLogZero) return 0;
  if (index > kLogZero) return static_cast<int64_t>(1ULL << (index - kLogZero - 1));
  return static_cast<int64_t>(0 - (1ULL << (kLogZero - index - 1)));  // the lowest is -2^63
}

std::string label(const codegen::OutputFormat& format, size_t index, size_t buckets) {
  if (format.is_log) return std::to_string(log_bucket_value(index));
  if (index == 0) return fmt::format("<{}", format.low);
  uint64_t before = index + 1 == buckets ? index - 2 : index - 1;  // the overflow row is named after the last bucket
  uint64_t value = static_cast<uint64_t>(format.low) + before * static_cast<uint64_t>(format.width);
  return fmt::format("{}{}", index + 1 == buckets ? ">" : "", static_cast<int64_t>(value));
}

struct Rows {
  size_t low = 0, high = 0;  // first and last one shown
};

// REQUIRES: some bucket is filled
Rows shown_rows(const codegen::OutputFormat& format, std::span<const uint64_t> buckets) {
  Rows rows;
  while (buckets[rows.low] == 0) ++rows.low;
  rows.high = buckets.size() - 1;
  while (buckets[rows.high] == 0) --rows.high;
  for (size_t i = 0; i < kElision; ++i) {
    if (rows.low > 0 && !(format.is_log && rows.low == kLogZero)) --rows.low;
    if (rows.high + 1 < buckets.size()) ++rows.high;
  }
  if (!format.is_log) {  // outliers' rows stand only where there are any
    if (rows.low == 0 && buckets.front() == 0) ++rows.low;
    if (rows.high + 1 == buckets.size() && buckets.back() == 0) --rows.high;
  }
  return rows;
}

}  // namespace

std::string histogram_text(const codegen::OutputFormat& format, std::span<const uint64_t> buckets) {
  uint64_t most = *std::max_element(buckets.begin(), buckets.end());
  if (most == 0) return {};
  Rows rows = shown_rows(format, buckets);
  uint64_t scale = std::max<uint64_t>(1, most / kBarWidth + (most % kBarWidth != 0));
  size_t count_width = std::to_string(most).size();
  size_t label_width = 5;
  for (size_t i : {rows.low, rows.high}) label_width = std::max(label_width, label(format, i, buckets.size()).size());

  auto empty_around = [&](size_t i) {
    size_t begin = i > rows.low + kElision ? i - kElision : rows.low, end = std::min(rows.high, i + kElision);
    return std::all_of(buckets.begin() + static_cast<ptrdiff_t>(begin), buckets.begin() + static_cast<ptrdiff_t>(end) + 1,
                       [](uint64_t count) { return count == 0; });
  };
  std::string out = fmt::format("{:>{}} |{:-<{}} count\n", "value", label_width, "", kBarWidth);
  bool elided = false;
  for (size_t i = rows.low; i <= rows.high; ++i) {
    if (empty_around(i)) {
      elided = true;
      continue;
    }
    if (elided) out += fmt::format("{:>{}}\n", "~", label_width + 2);
    elided = false;
    uint64_t bar = buckets[i] / scale;
    out += fmt::format("{:>{}} |{:@<{}}{:>{}}\n", label(format, i, buckets.size()), label_width, "", bar, buckets[i],
                       kBarWidth - bar + 1 + count_width);
  }
  out += "\n";
  return out;
}

}  // namespace spile::session
