#pragma once
// Runs a bundle: pass 5 of a script that has been compiled elsewhere. Nothing here, nor what it calls, uses the compiler.

#include <optional>
#include <string>

#include "base/result.h"
#include "session/terms/options.h"

namespace spile::session {

// If the bundle was made for other files or another kernel, and has its script's text, sets `again` to the options with which it
// is compiled for those that are here, prints a warning with both identities, and returns 0. Else returns the exit status, and
// has printed the errors of the run. Errors: as read_bundle() and place_bundle(); an option that is a part of the bundle; no -x
// or -c where the bundle needs one, or one where it was made without.
Result<int> run_bundle(const std::string& path, const Options& options, std::optional<Options>& again);

}  // namespace spile::session
