#pragma once
// -D NAME=VALUE and -G NAME=VALUE.

#include "base/result.h"
#include "sema/program.h"
#include "session/options.h"

namespace spile::session {

// Returns -D MAXSTRINGLEN in bytes, with the NUL; the default without it. apply_settings() rejects a value that is not a number.
int64_t string_length(const ScriptOptions& script);

// Puts -D, -G and what else pass 2 goes by into `program`. With messages.suppress_warnings, prints no warnings.
// Errors: a limit that is not a number in its range, an unknown limit whose name is near a known one's.
Result<void> apply_settings(const ScriptOptions& script, const ProgramOptions& options, const MessageOptions& messages, sema::Program& program);

}  // namespace spile::session
