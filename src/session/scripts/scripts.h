#pragma once
// Pass 1: finds and parses the script and the library's scripts.

#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "base/source.h"
#include "session/terms/options.h"
#include "syntax/parser.h"

namespace spile::session {

// Returns the settings of the parser: what the preprocessor's conditions and $1, @1 ... see. Without the library's macros.
syntax::ParseOptions parse_settings(const ScriptOptions& script, const TargetOptions& target);

// The user's script first, then -E texts, then those files of the library that they need (session/scripts/library.h).
struct LoadedScripts {
  std::vector<syntax::Script> scripts;
  std::vector<std::string> library_functions;  // names of all functions of the library, parsed or not: for hints
};
// Reads and parses them; the library's only if the user's have no mistakes. Adds mistakes of scripts to `diagnostics`. files:
// owns the texts, which the trees point into. Errors: the script or a folder of the library can't be read.
Result<LoadedScripts> load_scripts(const ScriptOptions& script, const TargetOptions& target, SourceFiles& files,
                                   Diagnostics& diagnostics);

// Parses every script of the library, for listings. Parameters and errors: as load_scripts().
Result<std::vector<syntax::Script>> load_library(const ScriptOptions& script, const TargetOptions& target, SourceFiles& files,
                                                 Diagnostics& diagnostics);

}  // namespace spile::session
