#pragma once
// Tells handlers who runs them, so that pid() and tid() need not ask the kernel (abi::ThreadIdentity).

#include "engine/space/address_space.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

// Of a client whose process table is new: whose it is, and what is known of its threads.
Result<void> introduce_process(AddressSpace& space, const ClientSpace& client, pid_t pid);

// Of an address space that is a forked child's: its tables were wiped.
void introduce_fork(AddressSpace& space, pid_t pid);

// Puts a thread that stands still down under its thread pointer; each is put down once. Nothing happens while there is no
// process table, and to a thread of a process that only borrows the memory.
void introduce_thread(AddressSpace& space, Thread& thread);

// Of a thread that has ended, in whatever way: a handler in which it did (it was canceled there) runs no more, so that others
// need not wait for what it has locked. Its slots are others' from now on, unless returns are still pending in them.
void bury_thread(AddressSpace& space, const Thread& thread);

// Frees all slots of the arena that belong to threads of the process. Called when it has executed another program.
void vacate_slots(const ClientSpace& client, int arena_fd, pid_t pid);

// The arena's slot of the thread with this thread pointer, where it is mapped in the space.
std::optional<Address> find_slot(const AddressSpace& space, const ClientSpace& client, uint64_t thread_pointer);

// The processes that run in this address space have become more, or fewer.
void count_borrowers(const AddressSpace& space);

}  // namespace spile::engine
