#pragma once
// Writes patches into text and takes them out again, while all threads of the address space are still.

#include <functional>
#include <set>

#include "engine/space/address_space.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

enum class PatchDirection { kApply, kRestore };

// Writes the patches, or what stood there before, page by page. A site whose bytes are not as expected (someone else has changed them, the
// module has gone) is left alone, and `untouched` is called with its index. sites: by begin. REQUIRES: all threads are still.
void write_patches(const TargetMemory& memory, std::span<const PatchedSite> sites, PatchDirection direction,
                   const std::function<void(size_t)>& untouched);

// Raises (or lowers) by one the semaphores of sites that were applied (or restored), except of those that begin at one of `except`.
void count_semaphores(const TargetMemory& memory, std::span<const PatchedSite> sites, const std::set<Address>& except,
                      PatchDirection direction);

// Moves every program counter that `move` gives a new value, in the thread's registers and in signal frames on its
// stack, whose handlers are going to return there. restarting: the kernel will step back over a system call
// instruction.
using PcMove = std::function<std::optional<Address>(Address pc, bool restarting)>;
void move_program_counters(AddressSpace& space, Thread& thread, const PcMove& move);
// Where in a trampoline a thread goes on that stands inside the window of one of `sites` (by begin), whose patch was written since. Empty:
// it stands inside of none.
std::optional<Address> pc_out_of_window(std::span<const PatchedSite> sites, Address pc, bool restarting);

}  // namespace spile::engine
