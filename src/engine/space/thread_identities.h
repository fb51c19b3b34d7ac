#pragma once
// Which process and thread run a handler, written into process tables so that pid() and tid() need not ask the kernel
// (abi::ThreadIdentity).

#include "engine/space/address_space.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

// Writes into the new process table of a client which process it belongs to, and what is known of its threads.
Result<void> introduce_process(AddressSpace& space, const ClientSpace& client, pid_t pid);

// Writes all process tables of a forked child anew, which the kernel has wiped. Forgets the parent's threads.
void introduce_fork(AddressSpace& space, pid_t pid);

// Notes that the returns that are pending on the process's stacks are in its own slots, rather than in those of the process
// that it was forked from (abi::InheritedState::process). REQUIRES: those of its parent were resolved (change/removal.h).
void own_returns(const AddressSpace& space, pid_t pid);

// Enters a thread, which stands still, under its thread pointer, once. Does nothing while the process has no table, and for a
// vfork child. Where another thread has the same one, notes that it is shared.
void introduce_thread(AddressSpace& space, Thread& thread);

// Removes a thread that has ended, in whatever way. If it ended in a handler (it was canceled there), other threads need not wait
// for what the handler has locked. Its slots are given back, unless returns are still pending in them.
void bury_thread(AddressSpace& space, const Thread& thread);

// Frees all slots of the arena that belong to threads of the process, except shared ones. client: of the space that the process
// has left. REQUIRES: the process has executed another program.
void vacate_slots(const ClientSpace& client, int arena_fd, pid_t pid);

// Frees the lock of the overflow slot if a thread that has ended holds it: nobody else would.
void free_overflow_slot(const ClientSpace& client, int arena_fd, pid_t tid);

// Finds the arena's slot of the thread with this thread pointer, at its run-time address. Empty: the thread has none.
std::optional<Address> find_slot(const AddressSpace& space, const ClientSpace& client, uint64_t thread_pointer);

// Writes into all process tables how many processes, beside one, run in this address space.
void count_borrowers(const AddressSpace& space);

}  // namespace spile::engine
