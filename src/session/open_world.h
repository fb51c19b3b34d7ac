#pragma once
// Opens the traced world that the options name: which program or processes, and where handlers may run.

#include <memory>

#include "base/result.h"
#include "probes/terms/probes.h"
#include "session/terms/options.h"

namespace spile::session {

// Opens what `target` names; nothing is attached to. only_lists, explain_left_out: as in probes::WorldOptions.
// Errors: as those of probes::World::open().
Result<std::unique_ptr<probes::World>> open_world(const TargetOptions& target, bool only_lists = false,
                                                  bool explain_left_out = false);

}  // namespace spile::session
