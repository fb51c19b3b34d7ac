#pragma once
// Writes patches into text and takes them out again, while all threads of the address space are still. For the engine's thread.

#include <functional>
#include <set>

#include "engine/space/address_space.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

enum class PatchDirection { kApply, kRestore };

// What stands at a site.
enum class TextState : uint8_t {
  kGone,      // nothing that can be read
  kPatched,   // our patch
  kOriginal,  // what stood there before, perhaps with another tracer's breakpoint
  kMixed,     // our patch, but for a breakpoint, or for what stood there before a breakpoint that has gone again
  kForeign,   // what somebody else has written
};
TextState text_at(const TargetMemory& memory, const PatchedSite& site);

// Called with the index of a site, and what was found there.
using FoundText = std::function<void(size_t, TextState)>;
// Writes the patches, or what stood there before, page by page. A site whose bytes are not as expected (somebody else has changed
// them, the module has gone), or can't be written, is left alone, and `untouched` is called. Of a kMixed site what is ours is
// taken out, and `untouched` is called, too. REQUIRES: all threads are still; `sites` is sorted by begin.
void write_patches(const TargetMemory& memory, std::span<const PatchedSite> sites, PatchDirection direction,
                   const FoundText& untouched);

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
