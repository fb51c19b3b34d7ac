#pragma once
// Maps into a target what handlers need: the ProcessTable, the arena, code regions. Done by one thread of the target,
// while the others run.

#include "abi/code_image.h"
#include "engine/space/address_space.h"
#include "engine/space/region.h"
#include "engine/trace/remote_call.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

struct SetupContext {
  Tracer& tracer;
  const abi::CodeImage& image;
  ArenaGeometry geometry;
  int arena_fd;
  ClientId client = kOwnClient;  // for whose handlers
};

// Of a client's ProcessTable with what lies behind it, in bytes.
uint64_t table_size(const ArenaGeometry& geometry);

// A filter may kill a process for a system call it did not expect: if the thread runs under one, handlers of the whole
// process make none from now on.
void note_seccomp_filter(const AddressSpace& space, const ProcessStatus& status);

// Maps table and arena, if they are not yet there.
Result<void> map_arena(SetupContext& context, AddressSpace& space);

// Maps more slots of it, after a thread has rung for them (abi::kSlotBell). An error: there is no room; it is not tried again.
Result<void> grow_arena(SetupContext& context, AddressSpace& space);

// How many slots of the client's arena a forked child has; puts right what was copied from what is known of its parent.
Result<uint64_t> measure_arena(AddressSpace& space, ClientSpace& client);

// A region that serves `module` (its image's cells hold one load bias), within reach of all of it, with room for so
// many sites and bytes of trampolines: an existing one, or a new one. REQUIRES: map_arena.
Result<std::shared_ptr<Region>> region_for(SetupContext& context, AddressSpace& space, const Module& module,
                                           uint64_t sites, uint64_t code_room);

// Memory for a stub that jumps from one of the ranges to `target`, a place in `region`; writes it.
std::optional<PlacedStub> place_stub(SetupContext& context, AddressSpace& space, Region& region,
                                     std::span<const PunRange> ranges, Address target);

// Unmaps what one client has there. REQUIRES: as unmap_all.
Result<void> unmap_client(Tracer& tracer, AddressSpace& space, ClientId id);

// Unmaps everything that the address space names. REQUIRES: nothing in it is reachable any more; all threads are still.
Result<void> unmap_all(Tracer& tracer, AddressSpace& space);

}  // namespace spile::engine
