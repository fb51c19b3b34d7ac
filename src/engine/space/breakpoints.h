#pragma once
// Sites that are breakpoints (Mechanism::kInt3). While we trace, the tracer moves a thread that meets one on to the
// trampoline. In case we are killed, the process gets an action for SIGTRAP, in code of ours, that does the same from
// within; it is put back at the end. A program that has an action for SIGTRAP of its own gets no breakpoints.

#include "engine/space/space_setup.h"

namespace spile::engine {

// Prepares for the breakpoints among `sites`, before they are written into the text. Fails if the program handles SIGTRAP itself,
// or there is no room for more: then none of these breakpoints may be written. context: our own client's. region: has room for
// breakpoint_room() bytes.
Result<void> guard_breakpoints(SetupContext& context, AddressSpace& space, Region& region, std::span<const PatchedSite> sites);
// Returns how many bytes of code the first call for a space needs in its region.
uint64_t breakpoint_room();
// Prepares for a trap of the engine's own (trap_sites.h), which lies in `region`. A thread that stands at it when we are killed
// gets the signal. Errors, context and region as for guard_breakpoints().
Result<void> guard_trap(SetupContext& context, AddressSpace& space, Region& region, Address trap);

// Moves threads on that have run into a breakpoint or a trap and wait for its signal: once the place is forgotten, the signal
// would end the process. REQUIRES: all threads are still.
void settle_breakpoints(Tracer& tracer, AddressSpace& space);

}  // namespace spile::engine
