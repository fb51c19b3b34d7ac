#pragma once
// Sites that are breakpoints (Mechanism::kInt3). While we trace, the tracer moves a thread that meets one on to the
// trampoline. In case we are killed, the process gets an action for SIGTRAP, in code of ours, that does the same from
// within; it is put back at the end. A program that has an action for SIGTRAP of its own gets no breakpoints.

#include "engine/space/space_setup.h"

namespace spile::engine {

// Before the breakpoints among `sites` are written into the text. region: has room for breakpoint_room().
Result<void> guard_breakpoints(SetupContext& context, AddressSpace& space, Region& region,
                               std::span<const PatchedSite> sites);
uint64_t breakpoint_room();
// The same for the trap in _dl_debug_state, once it is in `region`, which has room for breakpoint_room(). A thread that is at
// it when we are killed gets the signal.
Result<void> guard_trap(SetupContext& context, AddressSpace& space, Region& region, Address trap);

// Threads that have run into a breakpoint, or into the trap in _dl_debug_state, and wait for its signal, are moved on: once
// nobody knows the place any more the signal would end the process. REQUIRES: all are still.
void settle_breakpoints(Tracer& tracer, AddressSpace& space);

}  // namespace spile::engine
