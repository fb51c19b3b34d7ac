#pragma once
// Pass 5: a compiled script lives here, from begin probes to end probes.

#include <functional>

#include "base/result.h"
#include "codegen/codegen.h"
#include "probes/probes.h"
#include "sema/program.h"
#include "session/options.h"

namespace spile::session {

// Runs the script until exit(), the end of -c's command or -x's process, a signal, -T, or too many errors. Returns the
// exit status; an error means that it could not start (traced processes are as they were).
// files: what the places of `program` were found in.
// started is called once the probes are armed.
Result<int> run_script(const sema::Program& program, const codegen::CompiledScript& script, const Options& options,
                       const probes::ModuleFiles& files, const std::function<void()>& started);

}  // namespace spile::session
