#include "session/places/module_maps.h"

#include "base/clock.h"

namespace spile::session {

void ModuleMaps::make_stacks(std::span<uint8_t> arena, std::span<uint8_t> kernel, const codegen::ArenaLayout& layout,
                             uint32_t needs, abi::ControllerState& state) {
  stacks_ = std::make_unique<UserStacks>(arena, kernel, layout, needs);
  controller_state_ = &state;
}

uint64_t ModuleMaps::describe(pid_t pid, std::span<const engine::Module> modules, bool is_named) {
  if (!stacks_) return 0;
  const uint64_t map = stacks_->describe(pid, modules);
  if (take_map_) take_map_(pid, map);
  if (is_named) controller_state_->module_map = map;
  return map;
}

// Libraries come and go, so the modules are read again for a moment after they were read, which may take a fiftieth of the time.
// Samples come in batches, so this is done once for each. An ended process keeps its last map.
uint64_t ModuleMaps::map_of(engine::Engine& engine, pid_t pid, int64_t at_ns, bool is_named) {
  if (!stacks_) return 0;
  const int64_t now = monotonic_ns();
  Described& known = described_[pid];
  if (known.map != 0 && (at_ns <= known.time_ns || now - known.time_ns < 50 * known.took_ns)) return known.map;
  if (auto modules = engine.modules(pid); modules.ok()) {
    const int64_t took = monotonic_ns() - now;
    known = {describe(pid, *modules, is_named), now, took};
  }
  return known.map;
}

}  // namespace spile::session
