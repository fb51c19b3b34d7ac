#pragma once
// -T: the time of a session counts from the start of the program, so that a script that takes long to compile ends as soon
// as any other. While the script is compiled, a timer ends the program; once it runs, the session looks at the clock.

#include <cstdint>

namespace spile::session {

// Starts the time of the session. limit_ns 0: no limit. If the time is over before compiled_in_time(), the program ends at once with a
// message and status 1. Uses SIGALRM and ITIMER_REAL. REQUIRES: until compiled_in_time(), nothing is changed that must be restored.
void start_time_limit(int64_t limit_ns);
// Stops the timer that ends the program. From here on the session itself must look at the clock.
void compiled_in_time();
// Returns when start_time_limit() was called, in ns of CLOCK_MONOTONIC; 0: never.
int64_t time_limit_start();

}  // namespace spile::session
