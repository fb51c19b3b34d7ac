#pragma once
// Perf events, and the programs that run when they happen: what is needed to make one, whatever it counts. perf_event_open(2).

#include <linux/perf_event.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bpf/attachment.h"
#include "bpf/bpf.h"

namespace spile::bpf {

// Opens an event of a process (-1: of all) on a CPU (-1: on any). attributes: their size is filled in. Returns an invalid
// descriptor and sets errno where the kernel refuses.
UniqueFd try_open_event(perf_event_attr& attributes, pid_t process, int cpu);
// Opens it as try_open_event() does. Errors: no privilege, no such process, or what the kernel has against it.
Result<UniqueFd> open_event(perf_event_attr& attributes, pid_t process, int cpu, const AttachPoint& point);

// Links a program to an event, with the point's cookie, and starts the event. Errors: no privilege, an older kernel than Linux
// 5.15.
Result<Attachment> link_to_event(int program, UniqueFd event, const AttachPoint& point);

// Returns the number behind `prefix` in a file's first line, which describes kinds of events: "config:0". nullopt: the file is
// not there, or other.
std::optional<uint64_t> number_in(const std::string& path, const std::string& prefix);
// Returns the CPUs that are online, at least one.
std::vector<int> online_cpus();

// Returns the CPUs in a list of the kernel's: "0-3,8" has 0, 1, 2, 3, 8. Ends at the first character that is not of a list.
std::vector<int> parse_cpu_list(const std::string& text);

}  // namespace spile::bpf
