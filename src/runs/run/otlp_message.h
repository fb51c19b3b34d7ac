#pragma once
// What a running script has, as a message for collectors of OpenTelemetry (--otlp): an ExportMetricsServiceRequest of
// opentelemetry/proto/collector/metrics/v1/metrics_service.proto (OTLP 1.x), in the encoding of protobuf
// (https://protobuf.dev/programming-guides/encoding). A function of the model alone. Thread rule: any thread.
//
// Numbers are gauges; statistics are exponential histograms, cumulative, of scale 4 where they have a sketch (whose error of at
// most 1/128 they take over), else 0; the others, hits and losses are sums. Keys of arrays are attributes key1, key2 ... The
// host, the script and spile are the resource.

#include <string>
#include <vector>

#include "runs/run/run_model.h"

namespace spile::runs {

std::string otlp_metrics(const RunFacts& facts, const std::vector<RunProbe>& probes, const std::vector<RunGlobal>& globals,
                         const RunTick& tick);

}  // namespace spile::runs
