#pragma once
// Pass 5: runs a compiled script, from begin probes to end probes. Thread rule: one thread.

#include <functional>

#include "base/result.h"
#include "codegen/codegen.h"
#include "probes/terms/probes.h"
#include "sema/terms/program.h"
#include "session/terms/options.h"

namespace spile::session {

// What passes 1 to 4 have made. All of it must outlive the run.
struct RunInput {
  const sema::Program& program;
  const codegen::CompiledScript& script;
  const probes::ModuleFiles& files;  // in which the places of `program` were found
  kernelinfo::Features kernel;       // probes::World::kernel_features()
  const std::string& module_name;    // -m; may be empty
  bool is_compatible;                // --compatible: after errors no end probe runs, as in SystemTap
};

// Runs the script until exit(), the end of -c's command or of all -x's processes, a signal, -T, or too many errors. Returns the
// exit status: 0, or 1 after errors of handlers, lost output, or a command that failed. started is called once, when the probes
// are armed. Errors: the script can't start (traced processes are as they were), or the kernel refuses something while it runs.
Result<int> run_script(const RunInput& input, const TargetOptions& target, const OutputOptions& output,
                       const MessageOptions& messages, const std::function<void()>& started);

}  // namespace spile::session
