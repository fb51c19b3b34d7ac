#pragma once
// Answers -l, -L and the --dump options, without running a script.

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "session/options.h"

namespace spile::session {

// Prints what `listing` asks for on standard output, each line once; all but kProbeTypes are sorted. With -v, prints on standard error what matches but can't be
// probed, and why. Returns the exit status: 0, or 1 if
// nothing is found or the point is wrong, which has been reported. Errors: the program or process does not exist; the library can't be
// read. REQUIRES: listing.what is not kNone.
Result<int> list(const ListingOptions& listing, const ScriptOptions& script, const TargetOptions& target, const MessageOptions& messages);

}  // namespace spile::session
