#include "runs/run/run_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "abi/aggregate.h"
#include "base/text/number_text.h"
#include "runs/run/run_events.h"
#include "runs/text/event_lines.h"
#include "runs/text/histogram_text.h"

namespace spile::runs {

namespace {

constexpr size_t kMostRows = 20, kMostShownEvents = 20, kMostModules = 50;

std::string with_commas_of(uint64_t count, std::string_view what) {
  return fmt::format("{} {}", with_commas(count), plural(count, what));
}

// "15:02:11.123456": the time of day in UTC.
std::string clock_text(int64_t ns) {
  const std::string text = utc_text(ns);
  return text.empty() ? "?" : text.substr(11, 15);
}

std::string key_text(const RunKey& key) {
  if (const auto* number = std::get_if<int64_t>(&key)) return fmt::format("{}", *number);
  std::string text;
  for (const char c : std::get<std::string>(key)) text += c == '\n' ? std::string("; ") : std::string(1, c);
  return fmt::format("\"{}\"", text);
}

std::string keys_text(const std::vector<RunKey>& keys) {
  std::string text;
  for (const RunKey& key : keys) text += (text.empty() ? "" : ", ") + key_text(key);
  return text;
}

// By what elements of an array are sorted: the largest first.
int64_t weight_of(const RunValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return *number;
  if (const auto* statistics = std::get_if<RunStatistics>(&value))
    return static_cast<int64_t>(std::min<uint64_t>(statistics->count, INT64_MAX));
  return 0;
}

std::string value_text(const RunValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return fmt::format("{}", *number);
  if (const auto* text = std::get_if<std::string>(&value)) return key_text(RunKey(*text));
  const auto& statistics = std::get<RunStatistics>(value);
  if (statistics.count == 0) return "n=0";
  std::string text =
      fmt::format("n={} avg={} min={}", with_commas(statistics.count),
                  short_number(statistics.sum / static_cast<int64_t>(std::min<uint64_t>(statistics.count, INT64_MAX))),
                  short_number(statistics.min));
  for (const ShownPercentile& shown : kShownPercentiles) {
    if (const auto at = percentile(statistics, shown.percent)) text += fmt::format(" {}={}", shown.name, short_number(*at));
  }
  return text + fmt::format(" max={}", short_number(statistics.max));
}

std::string histogram_of(const RunGlobal& global, const RunStatistics& statistics) {
  syntax::OutputFormat format;
  format.kind = syntax::OutputFormat::Kind::kHistogram;
  format.unit = "value";
  format.is_log = statistics.linear.empty();
  std::vector<uint64_t> buckets(abi::kLogBuckets);
  if (!format.is_log) {
    format.low = global.low, format.high = global.high, format.width = global.width;
    buckets.assign(abi::linear_buckets(global.low, global.high, global.width) + 2, 0);
  }
  for (const auto& [bucket, count] : format.is_log ? log_buckets(statistics) : statistics.linear) buckets[bucket] = count;
  HistogramSummary summary{};
  summary.aggregate.count = statistics.count;
  summary.aggregate.min = statistics.min;
  summary.aggregate.max = statistics.max;
  const bool has_percentiles = !statistics.sketch.empty();
  for (size_t i = 0; i < summary.percentiles.size(); ++i) {
    const auto& wanted = syntax::kSummaryPercents[i];
    summary.percentiles[i] =
        percentile(statistics, static_cast<double>(wanted.percent) / static_cast<double>(wanted.scale)).value_or(0);
  }
  std::string text = summarized_histogram_text(format, summary, buckets);
  if (!has_percentiles) {  // "n=5 min=1 max=9": what is not known is not shown
    const size_t line = text.find('\n') + 1, end = text.find('\n', line);
    if (line != 0 && end != std::string::npos)
      text.replace(line, end - line,
                   fmt::format("n={} min={} max={}", with_commas(statistics.count), short_number(statistics.min),
                               short_number(statistics.max)));
  }
  return text;
}

void write_head(const RunDocument& run, const TakeText& take) {
  const RunFacts& facts = run.facts;
  take(fmt::format("{}: {} on {} ({}), {}, {}\n", run.file, facts.script_name, facts.host, facts.kernel,
                   utc_text(facts.begun_ns).substr(0, 19), time_text(end_of(run) - facts.begun_ns)));
  if (!facts.command.empty()) take(fmt::format("  command: {}\n", facts.command));
  if (!facts.processes.empty()) take(fmt::format("  processes: {}\n", fmt::join(facts.processes, " ")));
  if (!run.armed.empty()) {
    std::string armed;
    for (const auto& [mechanism, places] : run.armed)
      armed += fmt::format("{}{} by {}", armed.empty() ? "" : ", ", with_commas(places), mechanism);
    take(fmt::format("  places in processes: {}; paused {}\n", armed, time_text(run.paused_ns)));
  }
  if (!run.ended_ns)
    take(run.is_cut ? "  the file ends within a frame: spile or the machine died; later hits are missing\n"
                    : "  the run has no end: spile was killed, or still records; later hits are missing\n");
  for (const std::string& warning : run.warnings) take(fmt::format("  lost: {}\n", warning));
  if (run.events_left_out > 0)
    take(fmt::format("  {} are not shown: there are too many\n", with_commas_of(run.events_left_out, "event")));
}

struct ProbeRow {
  RunProbe probe;
  std::optional<uint64_t> hits;
};
// Probes of one point and place in the script are one row.
std::vector<ProbeRow> probe_rows(const std::vector<RunDocument>& runs) {
  std::vector<ProbeRow> rows;
  std::map<std::pair<std::string, std::string>, size_t> known;
  for (const RunDocument& run : runs) {
    const RunTick* tick = last_tick(run);
    for (size_t i = 0; i < run.probes.size(); ++i) {
      const auto [place, is_new] = known.try_emplace({run.probes[i].point, run.probes[i].source}, rows.size());
      if (is_new) rows.push_back({run.probes[i], std::nullopt});
      ProbeRow& row = rows[place->second];
      const std::optional<uint64_t> hits = tick ? tick->hits[i] : std::nullopt;
      if (hits) row.hits = row.hits.value_or(0) + *hits;
    }
  }
  return rows;
}

void write_probes(const std::vector<RunDocument>& runs, const TakeText& take) {
  take("\n        HITS    PLACES  WHERE    PROBE\n");
  for (const ProbeRow& row : probe_rows(runs)) {
    if (row.probe.source.empty()) continue;
    take(fmt::format("{:>12}  {:>8}  {:<7}  {}  {}\n", row.hits ? with_commas(*row.hits) : "?", with_commas(row.probe.places),
                     row.probe.runs_in, row.probe.point, row.probe.source));
  }
}

void write_global(MergedGlobal& merged, const TakeText& take) {
  const RunGlobal& global = merged.global;
  if (merged.unknown > 0)
    take(fmt::format("{}: could not be read whole in {}: its lock was held\n", global.name,
                     with_commas_of(merged.unknown, "run")));
  if (merged.elements.empty()) return take(fmt::format("{}: empty\n", global.name));
  if (global.keys.empty()) {
    take(fmt::format("{} = {}\n", global.name, value_text(merged.elements.front().value)));
    const auto* statistics = std::get_if<RunStatistics>(&merged.elements.front().value);
    if (statistics && statistics->count > 0) take(histogram_of(global, *statistics));
    return;
  }
  std::ranges::stable_sort(merged.elements, std::ranges::greater(),
                           [](const RunElement& element) { return weight_of(element.value); });
  take(fmt::format("{}: {}\n", global.name, with_commas_of(merged.elements.size() + merged.left_out, "element")));
  for (size_t i = 0; i < std::min(kMostRows, merged.elements.size()); ++i)
    take(fmt::format("  [{}] {}\n", keys_text(merged.elements[i].keys), value_text(merged.elements[i].value)));
  if (merged.elements.size() > kMostRows)
    take(fmt::format("  and {} more: --json and --csv have all\n", with_commas(merged.elements.size() - kMostRows)));
  if (merged.left_out > 0)
    take(fmt::format("  {} not recorded: a tick has {} of an array\n", with_commas_of(merged.left_out, "element"),
                     with_commas(RunDocument::kMostElements)));
}

void write_events(const std::vector<RunDocument>& runs, const TakeText& take) {
  uint64_t count = 0, shown = 0;
  for (const RunDocument& run : runs) count += run.events.size() + run.events_left_out;
  take(fmt::format("\n{}{}\n", with_commas_of(count, "event"),
                   count > kMostShownEvents ? ", of which the first are (--json and --csv have all)" : ""));
  for (const RunDocument& run : runs) {
    for (const RunEvent& event : run.events) {
      if (shown++ == kMostShownEvents) return;
      std::string text;
      append_event_text(text, run, event);
      if (!text.ends_with('\n')) text += '\n';
      take("  " + clock_text(event.time_ns) + (runs.size() > 1 ? " " + run.facts.host : "") + "  " + text);
    }
  }
}

void write_samples(const std::vector<RunDocument>& runs, const TakeText& take) {
  const Samples samples = samples_of(runs);
  if (samples.samples().empty()) return;
  std::map<std::string, uint64_t> self;
  for (const Samples::Stack& stack : samples.stacks()) {
    if (stack.weight > 0) self[text_of(samples.frames()[stack.frame])] += stack.weight;
  }
  std::vector<std::pair<std::string, uint64_t>> rows(self.begin(), self.end());
  std::ranges::stable_sort(rows, std::ranges::greater(), [](const auto& row) { return row.second; });
  take(fmt::format("\n{} of {}, by the function that ran:\n", with_commas_of(samples.samples().size(), "sample"),
                   with_commas_of(samples.threads().size(), "thread")));
  for (size_t i = 0; i < std::min(kMostRows, rows.size()); ++i)
    take(fmt::format("{:>8}  {:5.1f} %  {}\n", with_commas(rows[i].second),
                     100 * static_cast<double>(rows[i].second) / static_cast<double>(samples.samples().size()), rows[i].first));
  if (samples.lost() > 0) take(fmt::format("  {} not shown: there are too many\n", with_commas_of(samples.lost(), "sample")));
  if (samples.cut() > 0) take(fmt::format("  the outer callers of {} are not known\n", with_commas_of(samples.cut(), "sample")));
}

void write_modules(const std::vector<RunDocument>& runs, const TakeText& take) {
  std::map<RunModule, size_t> modules;
  for (const RunDocument& run : runs) {
    for (const RunModule& module : run.modules) ++modules[module];
  }
  if (modules.empty()) return;
  take(fmt::format("\n{}\n", with_commas_of(modules.size(), "module")));
  size_t shown = 0;
  for (const auto& [module, count] : modules) {
    if (shown++ == kMostModules) return take("  and more: --json has all\n");
    take(fmt::format("  {:<40}  {}\n", module.build_id.empty() ? "(no build-id)" : module.build_id, module.path));
  }
}

}  // namespace

RunStatistics::Buckets log_buckets(const RunStatistics& statistics) {
  if (!statistics.log.empty()) return statistics.log;
  // A sketch cuts each power of two into buckets, so none of them lies in two.
  std::array<uint64_t, abi::kLogBuckets> counts{};
  constexpr uint32_t kZero = abi::kLogBuckets / 2;
  for (const auto& [bucket, count] : statistics.sketch) {
    const int64_t value = abi::sketch_value(bucket);
    const uint64_t size = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    const auto bits = size == 0 ? 0 : 64 - static_cast<uint32_t>(__builtin_clzll(size));
    counts[value < 0 ? kZero - std::min(bits, kZero) : std::min(kZero + bits, abi::kLogBuckets - 1)] += count;
  }
  RunStatistics::Buckets buckets;
  for (uint32_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) buckets.emplace_back(i, counts[i]);
  }
  return buckets;
}

void write_run_text(const std::vector<RunDocument>& runs, const TakeText& take) {
  for (const RunDocument& run : runs) write_head(run, take);
  write_probes(runs, take);
  std::vector<MergedGlobal> globals = merge_globals(runs);
  if (!globals.empty())
    take(fmt::format("\n{}{}\n", with_commas_of(globals.size(), "global"),
                     runs.size() > 1 ? fmt::format(", added up over {} runs", runs.size()) : ""));
  for (MergedGlobal& global : globals) write_global(global, take);
  write_samples(runs, take);
  write_events(runs, take);
  write_modules(runs, take);
}

}  // namespace spile::runs
