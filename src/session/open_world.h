#pragma once
// The traced world that the options speak of: which program or process, and where handlers may run.

#include <memory>

#include "base/result.h"
#include "probes/probes.h"
#include "session/options.h"

namespace spile::session {

Result<std::unique_ptr<probes::World>> open_world(const Options& options);

}  // namespace spile::session
