#pragma once
// Answers -l, -L and the --dump options, without running a script.

#include "base/result.h"
#include "session/options.h"

namespace spile::session {

// Prints what `listing` asks for on standard output, each line once; all but kProbeTypes are sorted. Returns the exit status: 0, or 1 if
// nothing is found or the point is wrong, which has been reported. Errors: the program or process does not exist; the library can't be
// read. REQUIRES: listing.what is not kNone.
Result<int> list(const ListingOptions& listing, const ScriptOptions& script, const TargetOptions& target);

}  // namespace spile::session
