#pragma once
// What a running script has as metrics for Prometheus (--http, /metrics): its globals, the hits of its probes, what was skipped
// and lost. The text format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats) or OpenMetrics 1.0
// (https://github.com/prometheus/OpenMetrics). A function of the model alone. Thread rule: any thread.

#include <string>
#include <vector>

#include "runs/run/run_model.h"

namespace spile::runs {

// Numbers are gauges, statistics histograms with the buckets of @hist_log or @hist_linear, texts an _info metric. Keys of arrays
// are labels: key1, key2 ...
std::string metrics_text(const RunFacts& facts, const std::vector<RunProbe>& probes, const std::vector<RunGlobal>& globals,
                         const RunTick& tick, bool is_open_metrics);

}  // namespace spile::runs
