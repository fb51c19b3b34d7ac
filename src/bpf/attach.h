#pragma once
// Attaches a loaded program to one place, by a perf event (tracepoint, what sample.h attaches) with the program linked to it, or
// by a raw tracepoint (bpf(2), BPF_RAW_TRACEPOINT_OPEN), which needs no event and comes and goes at once. perf_event_open(2).
// Places in code: uprobe.h, kernel_function.h.

#include <string>

#include "base/result.h"
#include "bpf/attachment.h"
#include "bpf/bpf.h"

namespace spile::bpf {

// Attaches a program; handlers may run from here on. program: its descriptor, which may be closed afterwards. Errors: no
// privilege; the tracepoint, file or process does not exist. REQUIRES: not a sample of all processes (cpu_samples.h).
Result<Attachment> attach_program(int program, const AttachPoint& point);

// Returns how a point is attached, for -v: "tracepoint sched:sched_switch".
std::string mechanism(const AttachPoint& point);

}  // namespace spile::bpf
