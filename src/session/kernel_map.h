#pragma once
// Translates codegen's description of eBPF maps and programs into bpf's.

#include <sys/types.h>

#include "bpf/bpf.h"
#include "codegen/codegen.h"
#include "probes/probes.h"
#include "sema/program.h"

namespace spile::session {

// Returns the same description in bpf's terms.
bpf::MapSpec map_spec(const codegen::KernelMap& map);
// Returns the program and the points where it is attached. process: to which uprobes are limited (tracepoints and timer.profile are not);
// 0: all. files: where the places were found.
bpf::ProgramSpec program_spec(const sema::Program& program, const codegen::KernelProgram& entry, const probes::ModuleFiles& files, pid_t process);

// Returns abi::KernelConstants as bytes, with the clocks as they are now. target: what target() returns; 0: no process.
std::vector<uint8_t> kernel_constants(pid_t target);

}  // namespace spile::session
