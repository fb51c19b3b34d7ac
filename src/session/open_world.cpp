#include "session/open_world.h"

#include "session/target_side.h"

namespace spile::session {

Result<std::unique_ptr<probes::World>> open_world(const Options& options) {
  probes::WorldOptions world;
  if (!options.command.empty()) world.program = command_words(options.command).front();
  world.processes = options.targets;
  world.runtime = options.runtime == Runtime::kBpf         ? probes::Runtime::kBpf
                  : options.runtime == Runtime::kInProcess ? probes::Runtime::kInProcess
                                                           : probes::Runtime::kAuto;
  world.only_lists = options.listing != Listing::kNone;
  return probes::World::open(world);
}

}  // namespace spile::session
