#pragma once
// The threads of an address space: whether any runs, and system calls that one of them makes for us (trace/remote_call.h).

#include <chrono>
#include <functional>

#include "engine/space/address_space.h"
#include "engine/trace/remote_call.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

// Nothing runs in it any more: all threads have left it, or are at their ends.
bool is_at_end(const AddressSpace& space);

// One of its processes; 0: all have left it, which every wait for a thread may bring about.
pid_t pid_of(const AddressSpace& space);

// Lets the processes of the space run for a while, receiving what stops them. Ends early when all have left it.
// REQUIRES: nobody keeps them still.
void let_run(Tracer& tracer, const AddressSpace& space, std::chrono::milliseconds time);

// A thread that can carry out system calls for us, stopped and with a hold on it (the caller's to take off).
Result<Thread*> borrow_thread(Tracer& tracer, AddressSpace& space);

// System calls by such a thread.
Result<RemoteCalls> begin_calls(Tracer& tracer, AddressSpace& space, Thread& thread);

// Runs `act` with system calls made by any thread of the space. If that thread ends or executes another program while others stay in the
// space (a child of vfork), runs `act` again with another thread. REQUIRES: `act` records each step, and skips recorded steps.
using CallsAct = std::function<Result<void>(RemoteCalls& calls, Thread& thread)>;
Result<void> make_calls(Tracer& tracer, AddressSpace& space, const CallsAct& act);

}  // namespace spile::engine
