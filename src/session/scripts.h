#pragma once
// Pass 1: finds and parses the script and the library's scripts.

#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "base/source.h"
#include "session/options.h"
#include "syntax/parser.h"

namespace spile::session {

// The user's script first (with -E texts), then those of the tapset folders.
Result<std::vector<syntax::Script>> load_scripts(const Options& options, SourceFiles& files, Diagnostics& diagnostics);

// Where the installed tapset is: beside the executable (../share/spile/tapset), or the source tree's when run from there.
std::string tapset_folder();

}  // namespace spile::session
