#pragma once
// What `spile report` prints of runs: text for people, and texts for programs. Functions of the model alone; several runs are one
// document, with the globals added up. Names in the texts may come from traced programs: whoever prints them at a terminal makes
// them harmless. Thread rule: any thread.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runs/run/run_model.h"

namespace spile::runs {

// Takes a part of a text, which may be long.
using TakeText = std::function<void(std::string_view)>;

// A summary: when, where, probes with their hits, globals with histograms and percentiles, the first events, functions of
// samples, modules, what was lost.
void write_run_text(const std::vector<RunDocument>& runs, const TakeText& take);
// JSON Lines, docs/json.md: an object for each run, probe, global, element, tick, module and event.
void write_run_json(const std::vector<RunDocument>& runs, const TakeText& take);
// CSV (RFC 4180), docs/json.md: a line for each probe, element and event.
void write_run_csv(const std::vector<RunDocument>& runs, const TakeText& take);

// The percentiles that reports show.
struct ShownPercentile {
  double percent;
  const char* name;
};
inline constexpr ShownPercentile kShownPercentiles[] = {{50, "p50"}, {90, "p90"}, {99, "p99"}, {99.9, "p999"}};
// The buckets of @hist_log: those that are stored, else those that the sketch has, in whose buckets they are cut. Empty: neither
// is there.
RunStatistics::Buckets log_buckets(const RunStatistics& statistics);

}  // namespace spile::runs
