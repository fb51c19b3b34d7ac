#include "runs/run/otlp_message.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "abi/aggregate.h"
#include "runs/run/otlp_fields.h"
#include "runs/run/run_text.h"

namespace spile::runs {

namespace {

void add_keys(Message& point, uint32_t field, const std::vector<RunKey>& keys) {
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string name = "key" + std::to_string(i + 1);
    if (const auto* number = std::get_if<int64_t>(&keys[i])) point.message(field, attribute(name, *number));
    else point.message(field, attribute(name, std::get<std::string>(keys[i])));
  }
}

constexpr uint64_t kCumulative = 2;  // AggregationTemporality

// metrics.proto: NumberDataPoint { start = 2, time = 3, as_int = 6, attributes = 7 }
Message number_point(const RunFacts& facts, const RunTick& tick, int64_t value) {
  Message point;
  point.fixed(2, static_cast<uint64_t>(facts.begun_ns))
      .fixed(3, static_cast<uint64_t>(tick.time_ns))
      .fixed(6, static_cast<uint64_t>(value));
  return point;
}

// The buckets of an exponential histogram: bucket i has (base^i, base^(i + 1)], with base 2^(2^-scale).
using Exponential = std::map<int32_t, uint64_t>;

void add_bucket(Exponential& to, double magnitude, int scale, uint64_t count) {
  to[static_cast<int32_t>(std::ceil(std::ldexp(std::log2(magnitude), scale))) - 1] += count;
}

// Buckets { offset = 1, bucket_counts = 2 }
Message buckets_message(const Exponential& buckets) {
  Message message;
  if (buckets.empty()) return message;
  std::vector<uint64_t> counts;
  for (int32_t i = buckets.begin()->first; i <= buckets.rbegin()->first; ++i) {
    const auto found = buckets.find(i);
    counts.push_back(found == buckets.end() ? 0 : found->second);
  }
  return message.signed_number(1, buckets.begin()->first).numbers(2, counts);
}

// ExponentialHistogramDataPoint { attributes = 1, start = 2, time = 3, count = 4, sum = 5, scale = 6, zero_count = 7, positive =
// 8, negative = 9, min = 12, max = 13 }
Message histogram_point(const RunFacts& facts, const RunTick& tick, const RunElement& element) {
  const auto& statistics = std::get<RunStatistics>(element.value);
  constexpr int kFine = 4;
  const int scale = statistics.sketch.empty() ? 0 : kFine;
  Exponential positive, negative;
  uint64_t zeros = 0;
  const auto add = [&](double value, uint64_t count) {
    if (value == 0) zeros += count;
    else add_bucket(value > 0 ? positive : negative, std::abs(value), scale, count);
  };
  for (const auto& [bucket, count] : statistics.sketch) add(static_cast<double>(abi::sketch_value(bucket)), count);
  if (statistics.sketch.empty()) {
    constexpr int kZero = abi::kLogBuckets / 2;
    for (const auto& [bucket, count] : log_buckets(statistics)) {
      const int power = static_cast<int>(bucket) - kZero;
      // The middle of [2^(n-1), 2^n).
      add(power == 0 ? 0 : std::copysign(0.75 * std::ldexp(1.0, std::abs(power)), power), count);
    }
  }
  Message point;
  add_keys(point, 1, element.keys);
  point.fixed(2, static_cast<uint64_t>(facts.begun_ns))
      .fixed(3, static_cast<uint64_t>(tick.time_ns))
      .fixed(4, statistics.count)
      .real(5, static_cast<double>(statistics.sum));
  point.signed_number(6, scale).fixed(7, zeros).message(8, buckets_message(positive)).message(9, buckets_message(negative));
  if (statistics.count > 0) point.real(12, static_cast<double>(statistics.min)).real(13, static_cast<double>(statistics.max));
  return point;
}

// Whether the buckets of a value hold all that was counted: those of @hist_linear alone have no exponential form.
bool has_buckets(const RunStatistics& statistics) {
  return statistics.count == 0 || !statistics.sketch.empty() || !statistics.log.empty();
}

// Metric { name = 1, description = 2, gauge = 5, sum = 7, histogram = 9, exponential_histogram = 10 }. The data of each has
// data_points = 1, aggregation_temporality = 2.
Message metric(const std::string& name, const std::string& description) {
  Message made;
  made.text(1, name).text(2, description);
  return made;
}

Message metric_of(const RunFacts& facts, const RunGlobal& global, const RunGlobalState& state, const RunTick& tick) {
  Message made = metric("spile.global." + global.name, "global " + global.name + " of the script");
  Message data;
  if (global.type == ValueType::kStats) {
    const bool is_exponential = std::ranges::all_of(
        state.elements, [](const RunElement& element) { return has_buckets(std::get<RunStatistics>(element.value)); });
    for (const RunElement& element : state.elements) {
      if (is_exponential) {
        data.message(1, histogram_point(facts, tick, element));
        continue;
      }
      // HistogramDataPoint { start = 2, time = 3, count = 4, sum = 5, attributes = 9, bucket_counts = 6, explicit_bounds = 7, min
      // = 11, max = 12 }
      const auto& statistics = std::get<RunStatistics>(element.value);
      const std::map<uint32_t, uint64_t> counts(statistics.linear.begin(), statistics.linear.end());
      Message point;
      add_keys(point, 9, element.keys);
      point.fixed(2, static_cast<uint64_t>(facts.begun_ns))
          .fixed(3, static_cast<uint64_t>(tick.time_ns))
          .fixed(4, statistics.count)
          .real(5, static_cast<double>(statistics.sum));
      std::vector<uint64_t> all_counts;
      std::vector<double> bounds;  // inclusive; values are whole numbers
      // Without buckets of any kind there is one for all values.
      const uint32_t last = global.width > 0 ? abi::linear_buckets(global.low, global.high, global.width) + 1 : 0;
      for (uint32_t i = 0; i <= last; ++i) {
        const auto found = counts.find(i);
        all_counts.push_back(found == counts.end() ? 0 : found->second);
        if (i < last) bounds.push_back(static_cast<double>(global.low) + i * static_cast<double>(global.width) - 1);
      }
      if (last == 0) all_counts = {statistics.count};
      point.fixed_numbers(6, all_counts).reals(7, bounds);
      if (statistics.count > 0) point.real(11, static_cast<double>(statistics.min)).real(12, static_cast<double>(statistics.max));
      data.message(1, point);
    }
    return made.message(is_exponential ? 10 : 9, data.number(2, kCumulative));
  }
  for (const RunElement& element : state.elements) {
    const auto* number = std::get_if<int64_t>(&element.value);
    Message point = number_point(facts, tick, number ? *number : 1);
    add_keys(point, 7, element.keys);
    if (!number) point.message(7, attribute("value", std::get<std::string>(element.value)));
    data.message(1, point);
  }
  return made.message(5, data);
}

// Sum { data_points = 1, aggregation_temporality = 2, is_monotonic = 3 }
Message sum(const std::string& name, const std::string& description, const std::vector<Message>& points) {
  Message data;
  for (const Message& point : points) data.message(1, point);
  return metric(name, description).message(7, data.number(2, kCumulative).number(3, 1));
}

Message hits_sum(const RunFacts& facts, const std::vector<RunProbe>& probes, const RunTick& tick) {
  std::map<std::pair<std::string, std::string>, uint64_t> hits;  // probes of one point and place in the script are one
  for (size_t i = 0; i < probes.size(); ++i) {
    if (tick.hits[i] && !probes[i].source.empty()) hits[{probes[i].point, probes[i].source}] += *tick.hits[i];
  }
  std::vector<Message> points;
  for (const auto& [probe, count] : hits) {
    points.push_back(number_point(facts, tick, static_cast<int64_t>(count)));
    points.back().message(7, attribute("probe", probe.first)).message(7, attribute("source", probe.second));
  }
  return sum("spile.probe.hits", "handler runs of a probe", points);
}

}  // namespace

std::string otlp_metrics(const RunFacts& facts, const std::vector<RunProbe>& probes, const std::vector<RunGlobal>& globals,
                         const RunTick& tick) {
  const auto loss = [&](const char* name, const char* description, uint64_t count) {
    return sum(name, description, {number_point(facts, tick, static_cast<int64_t>(count))});
  };
  Message metrics;  // ScopeMetrics { scope = 1, metrics = 2 }
  metrics.message(1, scope_of(facts.spile)).message(2, hits_sum(facts, probes, tick));
  metrics.message(2, loss("spile.skipped_hits", "hits whose handler could not run", tick.skipped));
  metrics.message(2, loss("spile.lost_records", "records that found no room in a ring", tick.lost_records));
  metrics.message(2, loss("spile.lost_elements", "updates of arrays that were full", tick.lost_elements));
  for (size_t i = 0; i < globals.size(); ++i) {
    if (tick.globals[i]->is_known && !tick.globals[i]->elements.empty())
      metrics.message(2, metric_of(facts, globals[i], *tick.globals[i], tick));
  }
  return Message().message(1, Message().message(1, resource_of(facts.host, facts.script_name)).message(2, metrics)).get();
}

}  // namespace spile::runs
