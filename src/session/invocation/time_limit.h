#pragma once
// -T also ends a compilation that takes longer: while the script is compiled, a timer ends the program. Once the probes are
// armed, the session looks at the clock (script_run.cpp), and all of the time is left.

#include <cstdint>

namespace spile::session {

// Starts the time of the compilation. limit_ns 0: no limit. If the time is over before compiled_in_time(), the program ends at
// once with a message and status 1. Uses SIGALRM and ITIMER_REAL. REQUIRES: until compiled_in_time(), nothing is changed that
// must be restored.
void start_time_limit(int64_t limit_ns);
// Stops the timer that ends the program.
void compiled_in_time();

}  // namespace spile::session
