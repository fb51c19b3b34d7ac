#pragma once
// -T: the time of a session counts from the start of the program, so that a script that takes long to compile ends as soon
// as any other. While the script is compiled, a timer ends the program; once it runs, the session looks at the clock.

#include <cstdint>

namespace spile::session {

// Starts the time of the session. limit_ns 0: none. Where the time is over before compiled_in_time(), the program ends with
// a message and status 1; REQUIRES: nothing has been changed yet that would have to be put back.
void start_time_limit(int64_t limit_ns);
// From here on the session itself ends when the time is over.
void compiled_in_time();
// When start_time_limit() was called, of the monotonic clock, in ns.
int64_t time_limit_start();

}  // namespace spile::session
