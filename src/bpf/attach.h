#pragma once
// Attaches a loaded program to one place: a perf event (tracepoint, CPU clock, uprobe) with the program linked to it.
// perf_event_open(2); the uprobe PMU of Documentation/trace/uprobetracer.rst and kernel/trace/trace_event_perf.c.

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "bpf/bpf.h"

namespace spile::bpf {

// An attachment of a program; closing both descriptors detaches it.
struct Attachment {
  UniqueFd event;
  UniqueFd link;
};

// Returns one attachment, or for a profile one for each CPU. program: its descriptor.
Result<std::vector<Attachment>> attach_program(int program, const AttachPoint& point);

// Returns how a point is attached, for -v: "uprobe at /usr/bin/redis-server+0x1234".
std::string mechanism(const AttachPoint& point);

// Returns the CPUs in a list of the kernel's ("0-3,8").
std::vector<int> parse_cpu_list(const std::string& text);

}  // namespace spile::bpf
