#include "verbs/tables/latency_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/number_text.h"
#include "runs/text/histogram_text.h"
#include "verbs/tables/table.h"
#include "verbs/terms/glyphs.h"
#include "verbs/terms/json_lines.h"

namespace spile::verbs {

namespace {

constexpr size_t kZero = runs::kZeroBucket;
// The columns of the heat map: from calls below 64 ns to those of 8 s and more.
constexpr size_t kFirstPower = 5, kLastPower = 33;
constexpr uint64_t kLinesOfHead = 20;
enum Sum : size_t { kCount, kMin, kAvg, kP50, kP90, kP99, kP999, kMax };

constexpr const char* kNames[] = {"calls", "min_ns", "avg_ns", "p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "max_ns"};

std::string heat_head(bool with_ms) {
  std::string scale(kLastPower - kFirstPower + 1, ' ');
  const auto label = [&](size_t power, std::string_view text) { scale.replace(power - kFirstPower, text.size(), text); };
  label(10, "1us");
  label(20, "1ms");
  label(30, "1s");
  return fmt::format("{:<{}}  {:>11}  {:>7}  {:>7}  {:>7}  {}\n", "time", with_ms ? 12 : 8, "calls", "p50", "p99", "max", scale);
}

}  // namespace

LatencyRows::LatencyRows(Settings settings) : settings_(settings), utf8_(has_utf8()), buckets_(runs::kLogHistogramBuckets) {}

void LatencyRows::take(std::string_view head, runs::PayloadReader& arguments, std::string& out) {
  if (head == "sum ") {
    for (int64_t& sum : sums_) sum = arguments.next_long();
  } else if (head == "bucket ") {
    const auto index = static_cast<uint64_t>(arguments.next_long());
    if (index < buckets_.size()) buckets_[index] += static_cast<uint64_t>(arguments.next_long());
  } else if (head == "last\n") {
    is_last_ = true;
  } else if (head == "done ") {
    show(arguments.next_long(), out);
    sums_ = {};
    std::ranges::fill(buckets_, 0);
  }
}

void LatencyRows::show(int64_t time_ns, std::string& out) {
  if (settings_.json) {
    if (sums_[kCount] > 0) out += json_text(time_ns);
  } else if (settings_.heat) {
    if (is_last_ && lines_ > 0 && sums_[kCount] == 0) return;  // the end came right behind a line
    if (lines_++ % kLinesOfHead == 0) out += heat_head(settings_.with_ms);
    out += heat_line(time_ns);
  } else {
    out += sums_[kCount] > 0 ? histogram() : "no call has returned\n";
  }
}

std::string LatencyRows::json_text(int64_t time_ns) const {
  Json object;
  object["time"] = json_time_of(time_ns, settings_.with_ms);
  for (size_t i = 0; i < sums_.size(); ++i) object[kNames[i]] = sums_[i];
  object["buckets"] = Json::array();
  for (size_t i = kZero; i < buckets_.size(); ++i) {
    if (buckets_[i] == 0) continue;
    Json bucket;
    bucket["from_ns"] = i == kZero ? 0 : uint64_t{1} << (i - kZero - 1);
    bucket["count"] = buckets_[i];
    object["buckets"].push_back(std::move(bucket));
  }
  return object.dump() + "\n";
}

std::string LatencyRows::histogram() const {
  runs::HistogramSummary summary{};
  summary.aggregate.count = static_cast<uint64_t>(sums_[kCount]);
  summary.aggregate.min = sums_[kMin];
  summary.aggregate.max = sums_[kMax];
  summary.percentiles = {sums_[kP50], sums_[kP99], sums_[kP999]};
  return runs::log_histogram_text("ns", summary, buckets_);
}

std::string LatencyRows::heat_line(int64_t time_ns) {
  std::string line = clock_text(time_ns, settings_.with_ms);
  if (sums_[kCount] == 0) return line + "            0\n";
  line += fmt::format("  {:>11}  {:>7}  {:>7}  {:>7}  ", with_commas(static_cast<uint64_t>(sums_[kCount])),
                      time_text(sums_[kP50]), time_text(sums_[kP99]), time_text(sums_[kMax]));
  std::array<uint64_t, kLastPower - kFirstPower + 1> cells{};
  for (size_t i = 0; i < buckets_.size(); ++i) {
    const size_t power = i > kZero ? i - kZero - 1 : 0;
    cells[std::clamp(power, kFirstPower, kLastPower) - kFirstPower] += buckets_[i];
  }
  const auto most = static_cast<double>(std::ranges::max(cells));
  for (const uint64_t cell : cells) line += shade(most > 0 ? static_cast<double>(cell) / most : 0, utf8_);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace spile::verbs
