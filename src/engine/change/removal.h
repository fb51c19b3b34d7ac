#pragma once
// Takes everything of ours out of an address space, so that no byte, mapping or return address is left. All functions are for the
// engine's thread, and take addresses in the target.

#include <functional>
#include <set>
#include <span>

#include "engine/space/address_space.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

enum class AfterRemoval : uint8_t {
  kGoOn,     // the processes run on, still traced
  kRelease,  // detaches from the processes in the stop in which the last mapping goes; after an error they stay traced
};

// Takes a thread out of a handler that does not end, as if the handler had returned. Returns false: the thread is in none, or
// can't be taken out. REQUIRES: it stands still.
using HandlerLeaver = std::function<bool(Thread&)>;

// Restores the text, gives pending returns their real addresses, and waits (at most patience_ms, letting threads run
// meanwhile) until no thread is in our code; then unmaps. Does nothing if space.empty(). An error says what was left in place. If
// the threads could not be stopped at the begin, everything was left, and the text is patched; after any other error the text is
// restored. leave: called with threads that are in our code still when patience_ms have passed; null: they stay there.
Result<void> remove_all(Tracer& tracer, AddressSpace& space, uint64_t patience_ms, AfterRemoval after = AfterRemoval::kGoOn,
                        const HandlerLeaver& leave = {});

// Moves threads that stand at the relay of one of these sites into the site's trampoline. REQUIRES: the text of the relay is
// still patched, or the threads have not run since: later a thread may be at that place for the program's own instruction. only:
// ids of the threads to be looked at; null: all. Returns those of them that run, and so were not looked at; empty if no site has
// a relay.
std::set<pid_t> leave_relays(AddressSpace& space, std::span<const PatchedSite> sites, const std::set<pid_t>* only = nullptr);

// Steps threads that do not run out of our code by themselves out of it, one instruction at a time: threads that job control has
// stopped, and threads with a hold. They stand still again afterwards. Leaves threads alone that run, and the thread `sparing`
// (0: none).
void step_out_of_stop(Tracer& tracer, AddressSpace& space, pid_t sparing = 0);
// Steps one thread out of our code, by at most 50,000 instructions. Returns whether it is outside or has ended.
// REQUIRES: it stands still.
bool step_out(Tracer& tracer, AddressSpace& space, Thread& thread);
// Whether a thread that is in the kernel, and so can't be stopped now, may continue in our code. True also where /proc does not
// show its program counter, as it has just woken up; false if it has ended.
bool in_code_while_blocked(const AddressSpace& space, pid_t pid, pid_t tid);

// Writes the real return addresses of pending calls into stacks. only_thread: only those in the slots of the thread with this
// thread pointer, and those that were spilled (abi/spilled_returns.h), which may be any thread's; empty: all. to: the memory to
// write into, that of a forked child or the space's own; the pending calls are read from the space's own. Skips what can't be
// read or written. REQUIRES: the threads of `to` stand still, as far as they can be stopped.
void resolve_pending_returns(const AddressSpace& space, std::optional<uint64_t> only_thread, const TargetMemory& to);

// Does the same for one client's pending calls, whose addresses may also have come into shadow frames of other clients: it mends
// these too.
void resolve_pending_returns(const AddressSpace& space, ClientId client);

// Reads what a killed controller has left in a process, as an address space that remove_all can take out once the caller has
// attached and added the process to its `users`. The space is empty() if nothing was left. Believes nothing in the process's
// memory that would make us read or keep without bound. Fails if the process's mappings or memory can't be opened.
Result<AddressSpace> find_remains(pid_t pid);

}  // namespace spile::engine
