#pragma once
// Perf events, and the programs that run when they happen: perf_event_open(2).

#include <linux/perf_event.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bpf/attachment.h"
#include "bpf/bpf.h"

namespace spile::bpf {

// Opens a perf event that is not yet counting; its size is filled in. process: -1: all; cpu: -1: any. Errors: no privilege; the tracepoint, file
// or process does not exist.
Result<UniqueFd> open_event(perf_event_attr& attributes, pid_t process, int cpu, const AttachPoint& point);
// Links the program to the event, with the point's cookie, and starts the event. Errors: as open_event(); too many programs are there.
Result<Attachment> link_program(int program, UniqueFd event, const AttachPoint& point);
// Returns the number behind `prefix` in a file's first line, which describes kinds of events: "config:0". nullopt: the file is not there, or other.
std::optional<uint64_t> number_in(const std::string& path, const std::string& prefix);
// Returns the CPUs that are online, at least one.
std::vector<int> online_cpus();

// Returns the CPUs in a list of the kernel's: "0-3,8" has 0, 1, 2, 3, 8. Ends at the first character that is not of a list.
std::vector<int> parse_cpu_list(const std::string& text);

}  // namespace spile::bpf
