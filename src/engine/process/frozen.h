#pragma once
// Processes that the freezer of their control group keeps still: "docker pause", "systemctl freeze" (cgroups(7); cgroup-v2.rst,
// cgroup.freeze). They make no system calls for us, and may stay so for as long as somebody likes.

#include <sys/types.h>

namespace spile::engine {

// Whether the freezer keeps the process still, or is about to. False also where no mount of the control groups is visible to
// spile; mounts are looked for once. Any thread.
bool is_frozen(pid_t pid);

}  // namespace spile::engine
