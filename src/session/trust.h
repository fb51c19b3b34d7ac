#pragma once
// Whether a traced process may do what spile itself may do. Where it may not, whatever handlers in it say must not make spile
// do anything for it (docs/security.md).

#include <string>

#include <sys/types.h>

namespace spile::session {

// Empty: the process is gone, or it runs as the user that spile runs as, with all capabilities that spile has, in its user
// namespace, and under no seccomp filter that spile is not under. Otherwise why not: "process 4711 belongs to user 33".
std::string why_untrusted(pid_t process);

}  // namespace spile::session
