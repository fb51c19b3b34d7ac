#include "engine/space/fault_guard.h"

#include "engine/space/goroutines.h"
#include "engine/space/signal_actions.h"

namespace spile::engine {
namespace {

constexpr uint64_t kCodeRoom = 512;

// Finds or makes a region. A new one serves a module, whose probes are going to use it too.
Result<std::shared_ptr<Region>> region_with_room(SetupContext& context, AddressSpace& space) {
  for (auto& region : space.clients[context.client].regions) {
    if (region->has_room(0, kCodeRoom)) return region;
  }
  if (space.modules.empty()) return Error{"no module", ""};
  Module& module = space.modules.begin()->second.module;
  if (module.goroutine == 0) module.goroutine = find_goroutine_offset(space, module);
  return region_for(context, space, module, 0, kCodeRoom);
}

}  // namespace

Result<void> prepare_fault_guard(SetupContext& context, AddressSpace& space) {
  if (space.signal_code.handles_faults()) return {};
  TRY(auto region, region_with_room(context, space));
  SignalHandler code = native_architecture().emit_fault_handler(region->next(), region->list());
  CHECK(code.bytes.size() <= kCodeRoom);
  uint64_t handler = region->append_code(code.bytes).value;
  space.signal_code.set_fault_action({handler, kHandlerFlags, handler + code.restorer_offset, 0});
  return {};
}

}  // namespace spile::engine
