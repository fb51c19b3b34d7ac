#pragma once
// Plans how programs of the kernel are attached: to which points, and by which of the kernel's mechanisms, in the order in which
// they are tried. Translates codegen's description of programs and maps into bpf's.

#include <sys/types.h>

#include "bpf/bpf.h"
#include "codegen/codegen.h"
#include "kernelinfo/mechanisms.h"
#include "probes/terms/probes.h"
#include "sema/terms/program.h"

namespace spile::session {

// Returns the same description in bpf's terms.
bpf::MapSpec map_spec(const codegen::KernelMap& map);
// Appends the program and the points where it is attached; one for each mechanism that may do. process: to which uprobes are
// limited (others are not); 0: all. files: where the places were found. features: the mechanisms that there are. Errors: the
// kernel can't probe its functions at all; a program's file was replaced since.
Result<void> add_programs(const sema::Program& program, const codegen::KernelProgram& entry, const probes::ModuleFiles& files,
                          pid_t process, const kernelinfo::Features& features, std::vector<bpf::ProgramSpec>& specs);

// Checks that each probe of the kernel's functions has a program. Error: its handler needs what only mechanisms have that the
// kernel lacks.
Result<void> check_programs(const sema::Program& program, const std::vector<bpf::ProgramSpec>& specs);

}  // namespace spile::session
