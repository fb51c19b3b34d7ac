#pragma once
// Takes everything of ours out of an address space, so that no byte, mapping or return address is left.

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

// Moves threads that stand at the relay of one of these sites into the site's trampoline. To be called before the text of the relay becomes
// what it was: afterwards threads may be at that place for its own sake. only: these threads, others are left alone. Returns the threads
// that do not stand still, and were not looked at.
std::set<pid_t> leave_relays(AddressSpace& space, std::span<const PatchedSite> sites, const std::set<pid_t>* only = nullptr);

// Steps threads out of our code, one instruction at a time, that do not run out of it by themselves: those of a process that job control has
// stopped, and threads with a hold. They stand still again afterwards. sparing: this thread is left where it is.
void step_out_of_stop(Tracer& tracer, AddressSpace& space, pid_t sparing = 0);
// Steps one thread, which stands still, out of our code. Returns whether it is outside.
bool step_out(Tracer& tracer, AddressSpace& space, Thread& thread);
// Whether a thread that is in the kernel, and so can't be stopped now, may continue in our code.
bool in_code_while_blocked(const AddressSpace& space, pid_t pid, pid_t tid);

// Writes the real return addresses of pending calls into stacks. only_thread: of the thread with this thread pointer;
// else of all. to: the memory to write into (of a forked child; else the space's own).
void resolve_pending_returns(const AddressSpace& space, std::optional<uint64_t> only_thread, const TargetMemory& to);

// Writes the real return addresses of one client's pending calls, which may have come into the frames of other clients.
void resolve_pending_returns(const AddressSpace& space, ClientId client);

// Reads what a killed controller has left in a process, as an address space that remove_all can take out.
Result<AddressSpace> find_remains(pid_t pid);

}  // namespace spile::engine
