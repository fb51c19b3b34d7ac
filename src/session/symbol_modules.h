#pragma once
// -d MODULE. Symbols of every object are read where they are needed, so nothing has to be loaded; but a name of what does
// not exist is a mistake, which is reported.

#include <string>
#include <vector>

#include "base/diagnostics.h"

namespace spile::session {

// Adds a warning for each of `modules` that is neither an ELF file nor a kernel module: "kernel", the name of a
// loaded module, or a path.
void warn_missing_modules(const std::vector<std::string>& modules, Diagnostics& diagnostics);

}  // namespace spile::session
