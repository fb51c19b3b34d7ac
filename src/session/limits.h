#pragma once
// -D NAME=VALUE and -G NAME=VALUE.

#include "base/result.h"
#include "sema/program.h"
#include "session/options.h"

namespace spile::session {

// -D MAXSTRINGLEN, as far as it is a number: apply_settings() refuses what is none.
int64_t string_length(const ScriptOptions& script);

// Puts -D, -G and what else pass 2 goes by into `program`. With messages.suppress_warnings, prints no warnings.
// Errors: a limit that is not a number in its range, an unknown limit whose name is near a known one's.
Result<void> apply_settings(const ScriptOptions& script, const ProgramOptions& options, const MessageOptions& messages, sema::Program& program);

}  // namespace spile::session
