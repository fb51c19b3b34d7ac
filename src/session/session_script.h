#pragma once
// What scripts can ask about this run of spile: argc and argv, the time zone, spile's own process number. It is script
// text, which the library offers under the name <session> beside the tapset's files.

#include <string>

#include "session/options.h"

namespace spile::session {

std::string session_script(const ScriptOptions& options);
// The macros likewise, <session>.stpm: @MAXSTRINGLEN.
std::string session_macros(const ScriptOptions& options);

}  // namespace spile::session
