#pragma once
// Pass 1: finds and parses the script and the library's scripts.

#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "base/source.h"
#include "session/options.h"
#include "syntax/parser.h"

namespace spile::session {

// Returns what the preprocessor's conditions and arguments see.
syntax::ParseOptions parse_settings(const ScriptOptions& script, const TargetOptions& target);

// The user's script first, then -E texts, then those files of the library that they need (session/library.h).
struct LoadedScripts {
  std::vector<syntax::Script> scripts;
  std::vector<std::string> library_functions;  // names of all functions of the library, parsed or not: for hints
};
// Reads and parses them. Errors of scripts go to `diagnostics`; an error is returned if a file or a library folder can't be read.
// files: owns the texts, which the trees point into.
Result<LoadedScripts> load_scripts(const ScriptOptions& script, const TargetOptions& target, SourceFiles& files, Diagnostics& diagnostics);

// Parses every script of the library, for listings.
Result<std::vector<syntax::Script>> load_library(const ScriptOptions& script, const TargetOptions& target, SourceFiles& files, Diagnostics& diagnostics);

}  // namespace spile::session
