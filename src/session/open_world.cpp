#include "session/open_world.h"

#include "bpf/arena.h"
#include "bpf/privilege.h"
#include "session/terms/command_words.h"

namespace spile::session {

Result<std::unique_ptr<probes::World>> open_world(const TargetOptions& target, bool only_lists, bool explain_left_out) {
  probes::WorldOptions world;
  if (!target.command.empty()) world.program = command_program(target.command);
  world.processes = target.processes;
  world.runtime = target.runtime;
  world.download = target.download;
  world.can_mix = bpf::Arena::is_supported;
  world.may_probe_kernel = bpf::has_privileges;
  world.only_lists = only_lists;
  world.explain_left_out = explain_left_out;
  return probes::World::open(world);
}

}  // namespace spile::session
