#pragma once
// The kernel's description of its tracepoints. If tracefs is not mounted, a detached mount is used, which does not
// appear in the machine's mount table, and ends with the process.

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace spile {

// A descriptor of the root directory of tracefs, to be used with openat. Tries /sys/kernel/tracing,
// /sys/kernel/debug/tracing, then a mount of its own (needs CAP_SYS_ADMIN). The error says what to mount.
Result<UniqueFd> open_tracefs();

// The content of a file in it ("events/sched/sched_switch/format").
Result<std::string> read_tracefs(const std::string& path);

}  // namespace spile
