#pragma once
// Pass 5: runs a compiled script, from begin probes to end probes. Thread rule: one thread.

#include <functional>

#include "base/result.h"
#include "codegen/codegen.h"
#include "probes/probes.h"
#include "sema/program.h"
#include "session/options.h"

namespace spile::session {

// What passes 1 to 4 have made. All of it must outlive the run.
struct RunInput {
  const sema::Program& program;
  const codegen::CompiledScript& script;
  const probes::ModuleFiles& files;  // that the places of `program` were found in
  const std::string& module_name;    // -m; may be empty
};

// Runs the script until exit(), the end of -c's command or -x's process, a signal, -T, or too many errors. Returns the
// exit status; an error means that it could not start (traced processes are as they were).
// started is called once the probes are armed.
Result<int> run_script(const RunInput& input, const TargetOptions& target, const OutputOptions& output, const MessageOptions& messages,
                       const std::function<void()>& started);

}  // namespace spile::session
