#pragma once
// What can't be run together, and what the user may expect of a run and not get.

#include "base/result.h"
#include "codegen/codegen.h"
#include "sema/terms/program.h"
#include "session/terms/options.h"

namespace spile::session {

// Checks whether the script's handlers can run as the options ask. needs_processes: the script has probes on processes that spile
// must trace. Error: which of the options can't be used with the script.
Result<void> check_run(const codegen::CompiledScript& script, const TargetOptions& traced, const OutputOptions& output,
                       bool needs_processes);
// Returns whether handlers in the kernel are for places of programs.
bool has_uprobes(const sema::Program& program);
// Warns of children of -x's process: a uprobe on one process does not hit in them. REQUIRES: handlers run in the kernel.
void warn_of_children(const sema::Program& program, const TargetOptions& traced);

}  // namespace spile::session
