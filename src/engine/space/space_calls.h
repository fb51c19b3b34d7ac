#pragma once
// System calls that a thread of an address space makes for us (trace/remote_call.h).

#include <functional>

#include "engine/space/address_space.h"
#include "engine/trace/remote_call.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

// Nothing runs in it any more: all threads have left it, or are at their ends.
bool is_at_end(const AddressSpace& space);

// One of its processes; 0: all have left it, which every wait for a thread may bring about.
pid_t pid_of(const AddressSpace& space);

// A thread that can carry out system calls for us, stopped and with a hold on it (the caller's to take off).
Result<Thread*> borrow_thread(Tracer& tracer, AddressSpace& space);

// System calls by such a thread.
Result<RemoteCalls> begin_calls(Tracer& tracer, AddressSpace& space, Thread& thread);

// Runs `act` with system calls made by any thread of the space. If that thread ends or executes another program while others stay in the
// space (a child of vfork), runs `act` again with another thread. REQUIRES: `act` records each step, and skips recorded steps.
using CallsAct = std::function<Result<void>(RemoteCalls& calls, Thread& thread)>;
Result<void> make_calls(Tracer& tracer, AddressSpace& space, const CallsAct& act);

}  // namespace spile::engine
