#pragma once
// Translates codegen's description of eBPF maps and programs into bpf's.

#include <sys/types.h>

#include "bpf/bpf.h"
#include "codegen/codegen.h"
#include "probes/probes.h"
#include "sema/program.h"

namespace spile::session {

bpf::MapSpec map_spec(const codegen::KernelMap& map);
// process: uprobes and profiles are limited to it; 0: they are for all processes. files: where the places were found.
bpf::ProgramSpec program_spec(const sema::Program& program, const codegen::KernelProgram& entry, const probes::ModuleFiles& files, pid_t process);

// Returns abi::KernelConstants as bytes. target: what target() returns, or 0.
std::vector<uint8_t> kernel_constants(pid_t target);

}  // namespace spile::session
