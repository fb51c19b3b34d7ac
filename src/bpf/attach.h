#pragma once
// Attaches a loaded program to one place, by a perf event (tracepoint, what sample.h attaches) with the program linked to it, or
// by a raw tracepoint (bpf(2), BPF_RAW_TRACEPOINT_OPEN), which needs no event and comes and goes at once. perf_event_open(2).
// Places in code: uprobe.h, kernel_function.h.

#include <string>
#include <vector>

#include "base/result.h"
#include "bpf/attachment.h"
#include "bpf/bpf.h"

namespace spile::bpf {

// Attaches a program; handlers may run from here on. Returns one attachment, but for a profile of all processes one for each
// online CPU. program: its descriptor, which may be closed afterwards. Errors: no privilege; the tracepoint, file or process does
// not exist.
Result<std::vector<Attachment>> attach_program(int program, const AttachPoint& point);

// Returns how a point is attached, for -v: "tracepoint sched:sched_switch".
std::string mechanism(const AttachPoint& point);

}  // namespace spile::bpf
