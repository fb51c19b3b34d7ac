#pragma once
// Attaches a program to what the kernel and the processor count (AttachPoint::Kind::kSample): it runs whenever the count has
// grown by the period. On each CPU, or in one thread. perf_event_open(2), with BPF_PROG_TYPE_PERF_EVENT programs.

#include <string>

#include "base/result.h"
#include "bpf/attachment.h"
#include "bpf/bpf.h"

namespace spile::bpf {

// Attach a program to AttachPoint::process, and on one CPU; handlers may run from here on. On a CPU that is not online: without
// effect. Errors: no privilege, no such process, or the machine does not count the event (with what to do).
Result<Attachment> attach_sample(int program, const AttachPoint& point);
Result<Attachment> attach_sample_on(int program, const AttachPoint& point, int cpu);
// Attaches a program to one thread, wherever it runs; without effect if the thread has ended. Error: as above. REQUIRES:
// AttachPoint::of_threads.
Result<Attachment> attach_sample_to(int program, const AttachPoint& point, pid_t thread);

// Returns how it is attached, for -v: "cpu-clock every 10000000 ns", "event 0x2 of type 3 every 4000, in traced threads".
std::string sample_mechanism(const AttachPoint& point);

}  // namespace spile::bpf
