#include "session/histogram_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "abi/aggregate.h"

namespace spile::session {

namespace {

constexpr uint64_t kBarWidth = 50;
constexpr size_t kShownEmpty = 2;  // empty buckets shown beside a filled one before '~' takes their place

struct Row {
  std::string label;
  uint64_t count;
};

int64_t log_bucket_value(size_t index) {
  constexpr size_t kZero = abi::kLogBuckets / 2;
  if (index == kZero) return 0;
  if (index > kZero) return static_cast<int64_t>(1ULL << (index - kZero - 1));
  return static_cast<int64_t>(0 - (1ULL << (kZero - index - 1)));  // the lowest is -2^63
}

std::vector<Row> rows_of(const codegen::OutputFormat& format, std::span<const uint64_t> buckets) {
  std::vector<Row> rows;
  if (format.is_log) {
    for (size_t i = 0; i < buckets.size(); ++i) rows.push_back({std::to_string(log_bucket_value(i)), buckets[i]});
    return rows;
  }
  // The outliers' rows stand only where there are any.
  if (buckets.front() != 0) rows.push_back({fmt::format("<{}", format.low), buckets.front()});
  for (size_t i = 1; i + 1 < buckets.size(); ++i) {
    rows.push_back({std::to_string(format.low + static_cast<int64_t>(i - 1) * format.width), buckets[i]});
  }
  if (buckets.back() != 0) rows.push_back({fmt::format(">{}", format.high), buckets.back()});
  return rows;
}

}  // namespace

std::string histogram_text(const codegen::OutputFormat& format, std::span<const uint64_t> buckets) {
  std::vector<Row> rows = rows_of(format, buckets);
  auto filled = [](const Row& row) { return row.count != 0; };
  auto first = std::find_if(rows.begin(), rows.end(), filled);
  if (first == rows.end()) return {};
  auto last = std::find_if(rows.rbegin(), rows.rend(), filled).base();
  size_t begin = static_cast<size_t>(first - rows.begin());
  size_t end = static_cast<size_t>(last - rows.begin());
  begin = begin > kShownEmpty ? begin - kShownEmpty : 0;
  end = std::min(end + kShownEmpty, rows.size());

  uint64_t most = 0;
  size_t label_width = 5;
  size_t count_width = 0;
  for (size_t i = begin; i < end; ++i) {
    most = std::max(most, rows[i].count);
    label_width = std::max(label_width, rows[i].label.size());
    count_width = std::max(count_width, std::to_string(rows[i].count).size());
  }
  uint64_t scale = std::max<uint64_t>(1, (most + kBarWidth - 1) / kBarWidth);

  std::string out = fmt::format("{:>{}} |{:-<{}} count\n", "value", label_width, "", kBarWidth);
  for (size_t i = begin; i < end; ++i) {
    size_t run = i;
    while (run < end && rows[run].count == 0) ++run;
    if (run - i > 2 * kShownEmpty) {  // a long empty stretch: its first two, '~', its last two
      if (i != begin) {
        for (size_t k = 0; k < kShownEmpty; ++k, ++i) {
          out += fmt::format("{:>{}} |{:>{}}\n", rows[i].label, label_width, 0, kBarWidth + 1 + count_width);
        }
      }
      out += fmt::format("{:>{}}\n", "~", label_width);
      i = run - kShownEmpty;
    }
    uint64_t bar = rows[i].count / scale;
    out += fmt::format("{:>{}} |{:@<{}}{:>{}}\n", rows[i].label, label_width, "", bar, rows[i].count,
                       kBarWidth - bar + 1 + count_width);
  }
  out += "\n";
  return out;
}

}  // namespace spile::session
