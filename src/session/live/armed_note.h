#pragma once
// "spile: armed 3 places in redis-server (4711), paused 120 us; Ctrl-C ends": what a user at a terminal waits for.

#include <cstdint>
#include <string>

#include "session/serve/session_status.h"

namespace spile::session {

// Returns the line; "": the script has no places outside of spile. paused_ns: how long arming has stopped threads.
std::string armed_note(const SessionStatus& status, int64_t paused_ns);

}  // namespace spile::session
