#pragma once
// -d MODULE. Symbols of every object are read when they are needed, so nothing has to be loaded here; but a name of a module that
// does not exist is a mistake, which is reported.

#include <string>
#include <vector>

#include "base/diagnostics.h"

namespace spile::session {

// Adds a warning for each of `modules` that is none of these: "kernel", the name of a loaded kernel module, the path of an ELF
// file.
void warn_missing_modules(const std::vector<std::string>& modules, Diagnostics& diagnostics);

}  // namespace spile::session
