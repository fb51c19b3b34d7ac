#pragma once
// -D NAME=VALUE and -G NAME=VALUE.

#include "base/result.h"
#include "sema/program.h"
#include "session/options.h"

namespace spile::session {

// -D MAXSTRINGLEN, as far as it is a number: apply_settings() refuses what is none.
int64_t string_length(const Options& options);

Result<void> apply_settings(const Options& options, sema::Program& program);

}  // namespace spile::session
