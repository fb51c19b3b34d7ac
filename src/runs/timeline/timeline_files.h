#pragma once
// Timelines as texts, beside Perfetto's form (perfetto_file.h). Each is made of the model alone; names from traced processes are
// escaped as the form asks.

#include <string>

#include "runs/stacks/sample_files.h"
#include "runs/timeline/timeline.h"

namespace spile::runs {

// Returns the JSON of Chrome's trace viewer ("Trace Event Format"), which Perfetto and others read: begins and ends of slices,
// instants, counters, flows. Times are us since the timeline's first one, which stands in otherData.begin_ns.
std::string chrome_trace(const Timeline& timeline, const SampleFacts& facts);
// Returns JSON for https://www.speedscope.app: a profile for each thread, with its slices in order of time, in ns since the
// timeline's first one.
std::string speedscope_timeline(const Timeline& timeline, const SampleFacts& facts);
// Returns a tree of slices for each thread, with their times, arguments and instants, for people. Control characters become '?'.
std::string text_trees(const Timeline& timeline);

}  // namespace spile::runs
