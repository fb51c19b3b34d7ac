#pragma once
// What spile can say without running anything: -l, -L, and the --dump options.

#include "base/result.h"
#include "session/options.h"

namespace spile::session {

// Prints what `listing` asks for, sorted, each line once. 0, or 1 where nothing is found; errors of the script are
// shown on standard error.
Result<int> list(const ListingOptions& listing, const ScriptOptions& script, const TargetOptions& target);

}  // namespace spile::session
