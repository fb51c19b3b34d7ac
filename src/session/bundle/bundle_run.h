#pragma once
// Runs a bundle: pass 5 of a script that has been compiled elsewhere. Nothing here, nor what it calls, uses the compiler.

#include <functional>
#include <string>

#include "base/result.h"
#include "session/terms/options.h"

namespace spile::session {

// Compiles and runs the script of a bundle, as the options say; returns the exit status.
using RunScript = std::function<Result<int>(const Options& of_bundle)>;

// Returns the exit status, and has printed the errors of the run. If the bundle was made for other files or another kernel, and
// has its script's text, prints a warning with both identities and calls compile, which is null where there is no compiler.
// Errors: as read_bundle() and place_bundle(); an option that is a part of the bundle; no -x or -c where the bundle needs one, or
// one where it was made without.
Result<int> run_bundle(const std::string& path, const Options& options, const RunScript& compile);

}  // namespace spile::session
