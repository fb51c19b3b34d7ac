#pragma once
// Files for Perfetto (https://ui.perfetto.dev, trace_processor): protocol buffers of its published schema (perfetto_schema.h),
// made of the model alone. All packets are of one sequence, whose first one clears the incremental state; names and texts are
// interned. Texts that are not UTF-8 get U+FFFD where they are not.

#include <cstdint>
#include <string>

#include "runs/stacks/sample_files.h"
#include "runs/stacks/samples.h"
#include "runs/timeline/timeline.h"

namespace spile::runs {

// The system's clocks at one moment, in ns: they relate the times of a file to those of other traces of the same system. All 0:
// not known.
struct ClockReadings {
  int64_t realtime_ns = 0, monotonic_ns = 0, boottime_ns = 0;
};
ClockReadings read_clocks();

// Returns a trace with a track for each process, thread and counter. An end of a slice that was cut says so in an argument,
// `cut`: "begin", "end" or "begin, end". What facts.script and Timeline::missing() say are instants of a track named "spile".
std::string perfetto_trace(const Timeline& timeline, const SampleFacts& facts, const ClockReadings& clocks);
// Returns a trace with a sample of the thread's stack for each sample.
std::string perfetto_samples(const Samples& samples, const ClockReadings& clocks);

}  // namespace spile::runs
