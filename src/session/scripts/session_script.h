#pragma once
// Makes script text of what scripts can ask about this run of spile: argc and argv, the time zone, spile's own process number.
// The library offers it under the name <session> beside the tapset's files.

#include <string>

#include "session/terms/options.h"

namespace spile::session {

// Returns the text of <session>.
std::string session_script(const ScriptOptions& options);
// Returns the text of <session>.stpm, with the macro @MAXSTRINGLEN.
std::string session_macros(const ScriptOptions& options);

}  // namespace spile::session
