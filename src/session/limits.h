#pragma once
// -D NAME=VALUE and -G NAME=VALUE.

#include "base/result.h"
#include "sema/program.h"
#include "session/options.h"

namespace spile::session {

Result<void> apply_settings(const Options& options, sema::Program& program);

}  // namespace spile::session
