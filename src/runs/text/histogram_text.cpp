#include "runs/text/histogram_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "base/text/number_text.h"
#include "runtime/histogram.h"

namespace spile::runs {

namespace {

constexpr size_t kBarWidth = 40;
constexpr size_t kMostEmptyRows = 2;
constexpr std::string_view kLetters = " KMGTPE";

struct StringWriter {
  std::string text;
  void put(char c) { text += c; }
};

uint64_t magnitude(int64_t value) { return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value); }

// 2048 as "2K"; 2047 as it is.
std::string bound_text(bool is_negative, uint64_t size) {
  const int powers = size == 0 ? 0 : std::countr_zero(size) / 10;
  return fmt::format("{}{}{}", is_negative ? "-" : "", size >> (10 * powers),
                     powers ? kLetters.substr(static_cast<size_t>(powers), 1) : std::string_view());
}
std::string bound_text(int64_t value) { return bound_text(value < 0, magnitude(value)); }

std::string log_range(size_t bucket) {
  constexpr size_t kZero = abi::kLogBuckets / 2;
  if (bucket == kZero) return "0";
  const size_t bits = bucket > kZero ? bucket - kZero : kZero - bucket;
  const uint64_t low = uint64_t{1} << (bits - 1);
  const std::string near = bound_text(bucket < kZero, low), far = bits == 64 ? "" : bound_text(bucket < kZero, low << 1);
  if (bits == 1) return near;  // 1, or -1, alone
  if (bits == 64) return bucket > kZero ? fmt::format("[{}, ...)", near) : near;
  return bucket > kZero ? fmt::format("[{}, {})", near, far) : fmt::format("({}, {}]", far, near);
}

std::string linear_range(const syntax::OutputFormat& format, size_t bucket, size_t count) {
  const auto bound = [&](size_t at) {
    return static_cast<int64_t>(static_cast<uint64_t>(format.low) + at * static_cast<uint64_t>(format.width));
  };
  if (bucket == 0) return fmt::format("below {}", bound_text(format.low));
  if (bucket + 1 == count) return fmt::format("from {} on", bound_text(bound(count - 2)));
  if (format.width == 1) return bound_text(bound(bucket - 1));
  return fmt::format("[{}, {})", bound_text(bound(bucket - 1)), bound_text(bound(bucket)));
}

}  // namespace

std::string histogram_text(const syntax::OutputFormat& format, std::span<const uint64_t> buckets) {
  StringWriter out;
  rt::HistogramShape shape{format.is_log, format.low, format.width, format.elision};
  rt::HistogramWriter<StringWriter>(shape, buckets.data(), static_cast<uint32_t>(buckets.size()), out).write();
  return std::move(out.text);
}

std::string summarized_histogram_text(const syntax::OutputFormat& format, const HistogramSummary& summary,
                                      std::span<const uint64_t> buckets) {
  const auto is_filled = [](uint64_t count) { return count > 0; };
  const auto first = std::ranges::find_if(buckets, is_filled);
  if (first == buckets.end()) return {};
  const auto begin = static_cast<size_t>(first - buckets.begin());
  const auto end = static_cast<size_t>(std::find_if(buckets.rbegin(), buckets.rend(), is_filled).base() - buckets.begin());
  const uint64_t most = std::ranges::max(buckets);
  const double all = static_cast<double>(std::accumulate(buckets.begin(), buckets.end(), uint64_t{0}));

  std::vector<std::string> ranges, counts;
  size_t range_width = format.unit.size(), count_width = std::string_view("count").size();
  for (size_t at = begin; at < end; ++at) {
    ranges.push_back(format.is_log ? log_range(at) : linear_range(format, at, buckets.size()));
    counts.push_back(with_commas(buckets[at]));
    range_width = std::max(range_width, ranges.back().size());
    count_width = std::max(count_width, counts.back().size());
  }
  std::string out = fmt::format("{:>{}}  {:>{}}      %\nn={} min={}", format.unit, range_width, "count", count_width,
                                with_commas(summary.aggregate.count), short_number(summary.aggregate.min));
  for (size_t i = 0; i < summary.percentiles.size(); ++i)
    out += fmt::format(" {}={}", syntax::kSummaryPercents[i].name, short_number(summary.percentiles[i]));
  out += fmt::format(" max={}\n", short_number(summary.aggregate.max));
  for (size_t at = begin; at < end; ++at) {
    const auto next = static_cast<size_t>(std::find_if(buckets.begin() + static_cast<ptrdiff_t>(at), buckets.end(), is_filled) -
                                          buckets.begin());
    if (next - at > kMostEmptyRows) {
      out += fmt::format("{:>{}}\n", "~", range_width);
      at = next;
    }
    const double share = static_cast<double>(buckets[at]) / static_cast<double>(most);
    out +=
        fmt::format("{:>{}}  {:>{}}  {:>5.1f} |{}\n", ranges[at - begin], range_width, counts[at - begin], count_width,
                    100 * static_cast<double>(buckets[at]) / all, std::string(static_cast<size_t>(share * kBarWidth + 0.5), '@'));
  }
  return out + "\n";
}

std::string log_histogram_text(const std::string& unit, const HistogramSummary& summary, std::span<const uint64_t> buckets) {
  syntax::OutputFormat format;
  format.is_log = true;
  format.unit = unit;
  return summarized_histogram_text(format, summary, buckets);
}

}  // namespace spile::runs
