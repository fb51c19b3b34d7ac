#pragma once
// A program that reads the kernel's memory for handlers in spile itself: begin, end and timer probes (runtime/process/load.cpp).

#include "base/result.h"
#include "base/unique_fd.h"

namespace spile::bpf {

// Loads it; it is run by BPF_PROG_RUN with an abi::KernelRead as its context, as often as one likes, by any thread of this
// process. From Linux 5.14. Errors: no privilege (CAP_BPF and CAP_PERFMON, or root); an older kernel.
Result<UniqueFd> load_kernel_reader();

}  // namespace spile::bpf
