#pragma once
// Hardware watchpoints: breakpoints of perf_event_open(2) on the processor's debug registers.

namespace spile {

// Returns whether the processor raises watchpoints: of a test on a variable of this thread's own, the first time it is called.
// Under some hypervisors the kernel sets them, and they never come. True where the test can't be made (no right, no register
// left): whoever sets one then learns why.
bool watchpoints_work();

// The message for users where they do not work, and its hint.
extern const char* const kNoWatchpoints;
extern const char* const kNoWatchpointsHint;

}  // namespace spile
