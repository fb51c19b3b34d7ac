#pragma once
// Maps into a target what handlers need: the ProcessTable, the arena, code regions. Done by one thread of the target,
// while the others run. The functions receive what happens to all processes meanwhile: processes of the space may end or execute.

#include "abi/code_image.h"
#include "engine/space/address_space.h"
#include "engine/space/region.h"
#include "engine/trace/remote_call.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

struct SetupContext {
  Tracer& tracer;
  const abi::CodeImage& image;  // outlives the context
  ArenaGeometry geometry;
  int arena_fd, shared_fd;       // stay their owner's; -1: its arena has no shared pages
  ClientId client = kOwnClient;  // whose handlers need it
};

// Returns the size of a client's ProcessTable with what lies behind it, in bytes.
uint64_t table_size(const ArenaGeometry& geometry);

// Maps process table and arena of the client, if they are not yet there.
Result<void> map_arena(SetupContext& context, AddressSpace& space);

// Maps more slots of the arena, after a thread has rung for them (abi::kSlotBell). After an error, since they have no room, later
// threads do not ring any more. REQUIRES: map_arena.
Result<void> grow_arena(SetupContext& context, AddressSpace& space);

// Counts the slots of the client's arena that a forked child has mapped, and corrects client.arena, which is a copy of its
// parent's. 0: no arena is mapped.
Result<uint64_t> measure_arena(AddressSpace& space, ClientSpace& client);

// Finds or maps a region that serves `module` (the cells of its image hold one load bias), within reach of all of it, with room
// for so many sites and bytes of trampolines. Fails if no free addresses are in reach. REQUIRES: map_arena.
Result<std::shared_ptr<Region>> region_for(SetupContext& context, AddressSpace& space, const Module& module, uint64_t sites,
                                           uint64_t code_room);

// Writes a stub that jumps from one of the ranges to `target`, a place in `region`, and maps memory for it if needed. Empty: none
// of the ranges has room.
std::optional<PlacedStub> place_stub(SetupContext& context, AddressSpace& space, Region& region, std::span<const PunRange> ranges,
                                     Address target);

// Unmaps what one client has there, and forgets it: the ClientSpace is destroyed. REQUIRES: no thread can reach it any more; all
// threads are still.
Result<void> unmap_client(Tracer& tracer, AddressSpace& space, ClientId id);

// Unmaps what all clients have there, and takes back our actions for signals. REQUIRES: as unmap_client.
Result<void> unmap_all(Tracer& tracer, AddressSpace& space);

// Leaves to the process what a client, or all, have mapped there, and forgets it. Handlers do nothing in it from now on, as if
// their controller had died, and the next spile finds it as it finds what a killed one has left. REQUIRES: all threads are still;
// no return is pending in it.
Result<void> leave_client(Tracer& tracer, AddressSpace& space, ClientId id);
Result<void> leave_all(Tracer& tracer, AddressSpace& space);

}  // namespace spile::engine
