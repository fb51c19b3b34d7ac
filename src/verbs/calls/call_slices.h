#pragma once
// Calls as slices of a timeline.

#include "runs/timeline/timeline.h"
#include "verbs/calls/call_json.h"

namespace spile::verbs {

// Adds a call with its arguments, its result, and how it ended if it did not return. `flow` of the record numbers the track; the
// thread's name is the track's.
void add_call(runs::Timeline& timeline, const CallRecord& record);

}  // namespace spile::verbs
