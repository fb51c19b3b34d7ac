#pragma once
// From what codegen says of maps and programs to what bpf wants to know.

#include <sys/types.h>

#include "bpf/bpf.h"
#include "codegen/codegen.h"
#include "probes/probes.h"
#include "sema/program.h"

namespace spile::session {

bpf::MapSpec map_spec(const codegen::KernelMap& map);
// process: uprobes are limited to it; 0: none.
bpf::ProgramSpec program_spec(const sema::Program& program, const codegen::KernelProgram& entry, const probes::ModuleFiles& files, pid_t process);

// abi::KernelConstants as bytes. target: what target() is, or 0.
std::vector<uint8_t> kernel_constants(pid_t target);

}  // namespace spile::session
