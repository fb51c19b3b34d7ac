#pragma once
// Sites in whose patches another tracer has written. The kernel does so for uprobes: it writes a breakpoint over the first byte
// of an instruction, carries out what the file has there, and goes on behind that; when the uprobe goes, the file's byte is
// written back (kernel/events/uprobes.c). So a thread may come into the midst of a jump of ours, or a jump may lead elsewhere.
// As far as they could be chosen, the bytes where instructions began are no instructions (SitePlan::guarded), and jumps lead to
// a stub amid such bytes: the thread is caught at once, and the site is taken out. Others are found by comparing the text.
// For the engine's thread.

#include <optional>
#include <vector>

#include "engine/space/address_space.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

// Returns the sites whose text is neither the patch nor somebody else's code, by begin, without those of the engine's own:
// another tracer has set a breakpoint there, or taken it out, or the program has read the text anew. Threads may run meanwhile.
std::vector<PatchedSite> find_overwritten(const AddressSpace& space);

// Returns where a thread goes on that has stopped with SIGILL or SIGSEGV at `pc`, where the rest of a patch has sent it, once
// that is taken out. Empty: it has stopped for another reason. is_elsewhere: no instruction can be read at `pc`.
std::optional<Address> caught_at(const AddressSpace& space, Address pc, bool is_elsewhere);

}  // namespace spile::engine
