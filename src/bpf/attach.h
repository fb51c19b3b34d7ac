#pragma once
// Attaching a loaded program to one place: a perf event (tracepoint, CPU clock, uprobe) with the program linked to it.
// perf_event_open(2); the uprobe PMU of Documentation/trace/uprobetracer.rst and kernel/trace/trace_event_perf.c.

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "bpf/bpf.h"

namespace spile::bpf {

// Closing both detaches. A profile has one of them for each CPU.
struct Attachment {
  UniqueFd event;
  UniqueFd link;
};

Result<std::vector<Attachment>> attach_program(int program, const AttachPoint& point);

// "uprobe at /usr/bin/redis-server+0x1234", for -v.
std::string mechanism(const AttachPoint& point);

// CPUs in a list of the kernel's ("0-3,8"); exposed for its test.
std::vector<int> parse_cpu_list(const std::string& text);

}  // namespace spile::bpf
