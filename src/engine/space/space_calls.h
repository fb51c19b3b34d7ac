#pragma once
// The threads of an address space: whether any runs, and system calls that one of them makes for us (trace/remote_call.h).

#include <chrono>
#include <functional>

#include "engine/space/address_space.h"
#include "engine/trace/remote_call.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

// Returns whether all threads have left the space, or are at their ends.
bool is_at_end(const AddressSpace& space);

// Returns one of the processes of the space, or 0 if all have left it, which may happen in every wait for a thread.
pid_t pid_of(const AddressSpace& space);

// Lets the processes of the space run for a while, receiving what stops them. Ends early when all have left it.
// REQUIRES: they are not kept still.
void let_run(Tracer& tracer, const AddressSpace& space, std::chrono::milliseconds time);

// Finds a thread that can make system calls for us, of any process of the space, and stops it, with a hold on it that the caller
// takes off (Tracer::unhold). Waits for as long as Tracer::wait_for_sleeper() allows. Fails if no thread is left, or a process is
// frozen.
Result<Thread*> borrow_thread(Tracer& tracer, AddressSpace& space);

// Begins system calls by such a thread, which is held until RemoteCalls::finish().
Result<RemoteCalls> begin_calls(Tracer& tracer, AddressSpace& space, Thread& thread);

// Runs `act` with system calls made by any thread of the space. If that thread ends or executes another program while others stay
// in the space (a child of vfork), runs `act` again with another thread, up to eight in all. REQUIRES: `act` records each step,
// and skips recorded steps.
using CallsAct = std::function<Result<void>(RemoteCalls& calls, Thread& thread)>;
Result<void> make_calls(Tracer& tracer, AddressSpace& space, const CallsAct& act);

}  // namespace spile::engine
