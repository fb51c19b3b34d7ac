#pragma once
// Takes everything out of an address space again, so that no byte, mapping or return address of ours is left.

#include <set>
#include <span>

#include "engine/space/address_space.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

enum class AfterRemoval : uint8_t {
  kGoOn,     // the processes run on, still traced
  kRelease,  // detaches from the processes in the stop in which the last mapping goes; after an error they stay traced
};

// Restores the text, gives pending returns their real addresses, and waits (at most patience_ms, letting threads run
// meanwhile) until no thread is in our code; then unmaps. An error says what was left in place; the text is restored
// in any case.
Result<void> remove_all(Tracer& tracer, AddressSpace& space, uint64_t patience_ms, AfterRemoval after = AfterRemoval::kGoOn);

// A thread that stands where a short jump of one of these sites leads to goes on in its trampoline. Before the text there is
// what it was; afterwards threads may be at that place for its own sake. only: of these threads. Those that don't stand still.
std::set<pid_t> leave_relays(AddressSpace& space, std::span<const PatchedSite> sites, const std::set<pid_t>* only = nullptr);

// A process that job control has stopped does not run out of our code by itself, nor does a thread that somebody holds:
// such threads are led out one instruction at a time, and stand still again afterwards. All but `sparing`.
void step_out_of_stop(Tracer& tracer, AddressSpace& space, pid_t sparing = 0);
// The same for one thread, which stands still. True if it is outside.
bool step_out(Tracer& tracer, AddressSpace& space, Thread& thread);
// True if a thread that is in the kernel, and so can't be stopped now, may continue in our code.
bool in_code_while_blocked(const AddressSpace& space, pid_t pid, pid_t tid);

// Writes the real return addresses of pending calls into stacks. only_thread: of the thread with this thread pointer;
// else of all. to: the memory to write into (of a forked child; else the space's own).
void resolve_pending_returns(const AddressSpace& space, std::optional<uint64_t> only_thread, const TargetMemory& to);

// The same for one client, whose addresses may have come into the frames of others.
void resolve_pending_returns(const AddressSpace& space, ClientId client);

// What a killed controller has left in a process, as an address space that remove_all understands.
Result<AddressSpace> find_remains(pid_t pid);

}  // namespace spile::engine
