#pragma once
// The kernel's description of its tracepoints, and debugfs beside it. If tracefs is not mounted, a detached mount is used, which
// does not appear in the machine's mount table, and ends with its descriptor.

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace spile {

// Returns a descriptor of the root directory of tracefs, to be used with openat. Tries /sys/kernel/tracing,
// /sys/kernel/debug/tracing, then, unless one of them is there but not readable, a mount of its own (needs CAP_SYS_ADMIN). The
// error's hint says what to mount, or to run as root.
Result<UniqueFd> open_tracefs();

// Returns the content of a file in it. path: from that directory on ("events/sched/sched_switch/format").
Result<std::string> read_tracefs(const std::string& path);
// Returns the content of a file of debugfs, which is mounted at /sys/kernel/debug, or for this call ("kprobes/enabled").
Result<std::string> read_debugfs(const std::string& path);

}  // namespace spile
