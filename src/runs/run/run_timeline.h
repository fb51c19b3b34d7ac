#pragma once
// Runs as a timeline: globals that are numbers, and hits of probes, are counters; what handlers printed are instants. Thread
// rule: any thread.

#include <vector>

#include "runs/run/run_model.h"
#include "runs/timeline/timeline.h"

namespace spile::runs {

// Each run has a process of its own in the timeline, named by its host, with a track for the events of each CPU. Samples are not
// in it (samples_of()).
Timeline timeline_of(const std::vector<RunDocument>& runs);

}  // namespace spile::runs
