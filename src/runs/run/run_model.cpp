#include "runs/run/run_model.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "abi/aggregate.h"

namespace spile::runs {

namespace {

using Buckets = RunStatistics::Buckets;

// Adds counts as the runtime does: modulo 2^64, so that no file can make it undefined.
void add(Buckets& into, const Buckets& other) {
  Buckets sum;
  sum.reserve(into.size() + other.size());
  auto a = into.begin();
  for (const auto& [bucket, count] : other) {
    while (a != into.end() && a->first < bucket) sum.push_back(*a++);
    if (a != into.end() && a->first == bucket) sum.emplace_back(bucket, a++->second + count);
    else sum.emplace_back(bucket, count);
  }
  sum.insert(sum.end(), a, into.end());
  into = std::move(sum);
}

Buckets difference(const Buckets& earlier, const Buckets& later) {
  std::map<uint32_t, uint64_t> counts(later.begin(), later.end());
  for (const auto& [bucket, count] : earlier) {
    auto found = counts.find(bucket);
    if (found != counts.end()) found->second -= std::min(found->second, count);
  }
  Buckets left;
  for (const auto& [bucket, count] : counts) {
    if (count > 0) left.emplace_back(bucket, count);
  }
  return left;
}

int64_t wrapping_sum(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }

void merge(RunValue& into, const RunValue& other) {
  if (auto* statistics = std::get_if<RunStatistics>(&into)) merge(*statistics, std::get<RunStatistics>(other));
  else if (auto* number = std::get_if<int64_t>(&into)) *number = wrapping_sum(*number, std::get<int64_t>(other));
  else into = other;
}

// Whether values of two globals can be added up: the buckets of @hist_linear are the same.
bool is_same(const RunGlobal& a, const RunGlobal& b) {
  return a.name == b.name && a.type == b.type && a.keys == b.keys && a.low == b.low && a.high == b.high && a.width == b.width;
}

}  // namespace

int64_t end_of(const RunDocument& document) {
  int64_t end = document.facts.begun_ns;
  if (document.ended_ns) return *document.ended_ns;
  if (!document.ticks.empty()) end = std::max(end, document.ticks.back().time_ns);
  if (!document.events.empty()) end = std::max(end, document.events.back().time_ns);
  return end;
}

void merge(RunStatistics& into, const RunStatistics& other) {
  if (other.count == 0) return;
  if (into.count == 0) {
    into = other;
    return;
  }
  into.count += other.count;
  into.sum = wrapping_sum(into.sum, other.sum);
  into.min = std::min(into.min, other.min);
  into.max = std::max(into.max, other.max);
  add(into.log, other.log);
  add(into.linear, other.linear);
  add(into.sketch, other.sketch);
}

RunStatistics difference(const RunStatistics& earlier, const RunStatistics& later) {
  if (later.count < earlier.count) return later;
  RunStatistics made;
  made.count = later.count - earlier.count;
  made.sum = static_cast<int64_t>(static_cast<uint64_t>(later.sum) - static_cast<uint64_t>(earlier.sum));
  made.min = later.min;
  made.max = later.max;
  made.log = difference(earlier.log, later.log);
  made.linear = difference(earlier.linear, later.linear);
  made.sketch = difference(earlier.sketch, later.sketch);
  return made;
}

// The nearest rank, as the runtime has it (spile_rt_aggregate_percentile).
std::optional<int64_t> percentile(const RunStatistics& statistics, double percent) {
  if (statistics.sketch.empty() || statistics.count == 0) return std::nullopt;
  const double exact = std::ceil(static_cast<double>(statistics.count) * percent / 100 - 1e-9);
  if (exact <= 1) return statistics.min;
  if (exact >= static_cast<double>(statistics.count)) return statistics.max;
  const auto rank = static_cast<uint64_t>(exact);
  uint64_t seen = 0;
  for (const auto& [bucket, count] : statistics.sketch) {
    seen += count;
    if (seen < rank) continue;
    const int64_t value = abi::sketch_value(bucket);
    return value < statistics.min ? statistics.min : value > statistics.max ? statistics.max : value;
  }
  return statistics.max;
}

std::vector<MergedGlobal> merge_globals(const std::vector<RunDocument>& documents) {
  std::vector<MergedGlobal> merged;
  std::vector<std::map<std::vector<RunKey>, RunValue>> values;
  for (const RunDocument& document : documents) {
    const RunTick* tick = last_tick(document);
    for (size_t i = 0; i < document.globals.size(); ++i) {
      auto place =
          std::ranges::find_if(merged, [&](const MergedGlobal& known) { return is_same(known.global, document.globals[i]); });
      if (place == merged.end()) {
        place = merged.insert(merged.end(), MergedGlobal{document.globals[i], {}, 0, 0, 0});
        values.emplace_back();
      }
      ++place->documents;
      place->global.features &= document.globals[i].features;
      if (!tick) continue;
      const RunGlobalState& state = *tick->globals[i];
      place->left_out += state.left_out;
      if (!state.is_known) ++place->unknown;
      for (const RunElement& element : state.elements) {
        auto [known, is_new] = values[static_cast<size_t>(place - merged.begin())].try_emplace(element.keys, element.value);
        if (!is_new) merge(known->second, element.value);
      }
    }
  }
  for (size_t i = 0; i < merged.size(); ++i) {
    for (auto& [keys, value] : values[i]) merged[i].elements.push_back({keys, std::move(value)});
  }
  return merged;
}

}  // namespace spile::runs
