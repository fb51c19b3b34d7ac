#pragma once
// Writes patches into text and takes them out again, while all threads of the address space are still. For the engine's thread.

#include <functional>
#include <set>

#include "engine/space/address_space.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

enum class PatchDirection { kApply, kRestore };

// Writes the patches, or what stood there before, page by page. A site whose bytes are not as expected (someone else has changed
// them, the module has gone), or can't be written, is left alone, and `untouched` is called with its index in `sites`. REQUIRES:
// all threads are still; `sites` is sorted by begin.
void write_patches(const TargetMemory& memory, std::span<const PatchedSite> sites, PatchDirection direction,
                   const std::function<void(size_t)>& untouched);

enum class TextState : uint8_t { kGone, kPatched, kOriginal, kForeign };
// Returns what stands at a site: nothing that can be read, our patch, what stood there before, or what somebody else has written.
TextState text_at(const TargetMemory& memory, const PatchedSite& site);

// Raises (or lowers, but not below 0) by one the semaphores of sites that were applied (or restored), except of sites that begin
// at one of `except`. Skips semaphores that can't be read or written.
void count_semaphores(const TargetMemory& memory, std::span<const PatchedSite> sites, const std::set<Address>& except,
                      PatchDirection direction);

// Returns where a thread goes on that stands at `pc`; empty: where it is. restarting: the kernel will step back over a system
// call instruction.
using PcMove = std::function<std::optional<Address>(Address pc, bool restarting)>;
// Moves program counters as `move` says, in the thread's registers and in signal frames within 32 KiB above its stack pointer,
// whose handlers are going to return there. Does nothing if the thread has ended. REQUIRES: it stands still.
void move_program_counters(AddressSpace& space, Thread& thread, const PcMove& move);
// Returns where in a trampoline a thread goes on that stands inside the window of one of `sites` (by begin), whose patch is
// written in this stop. Empty: it stands in no window, or at the begin of one, where it meets the patch. restarting: as in
// PcMove.
std::optional<Address> pc_out_of_window(std::span<const PatchedSite> sites, Address pc, bool restarting);

}  // namespace spile::engine
