#pragma once
// -d MODULE. Symbols of every object are read where they are needed, so nothing has to be loaded; but a name of what does
// not exist is a mistake, which is reported.

#include "base/diagnostics.h"
#include "session/options.h"

namespace spile::session {

// Adds a warning for each of options.symbol_modules that is no ELF file and no kernel module: "kernel", the name of a
// loaded module, or a path.
void warn_missing_modules(const Options& options, Diagnostics& diagnostics);

}  // namespace spile::session
