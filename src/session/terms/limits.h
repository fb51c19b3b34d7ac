#pragma once
// -D NAME=VALUE and -G NAME=VALUE.

#include "base/result.h"
#include "sema/terms/program.h"
#include "session/terms/options.h"

namespace spile::session {

// Returns -D MAXSTRINGLEN in bytes, with the NUL; the default without it. Does not check the value: apply_settings() does.
int64_t string_length(const ScriptOptions& script);

// Copies -D, -G and the other options that pass 2 reads into `program`. Prints a warning about an unknown limit, without -w and
// -g. Errors: a limit that is not a number in its range, an unknown limit whose name is near a known one's, a setting that is not
// NAME=VALUE.
Result<void> apply_settings(const ScriptOptions& script, const ProgramOptions& options, const MessageOptions& messages,
                            sema::Program& program);

}  // namespace spile::session
