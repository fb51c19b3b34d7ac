#pragma once
// Faults of the program's own in code of ours. Where an instruction that was displaced faults, or a stack is at its end when
// a handler needs it, a program that handles the signal may look at where that was: C++ and Ada make exceptions of faults and
// look for what catches them by the address (-fnon-call-exceptions), OCaml and Go ask whether the code is theirs. So the
// program is shown the place that is probed. A handler that returns would go on in the midst of a patch, or at its begin once
// more: the thread's system calls are watched until it returns from the signal, and goes on in the trampoline then.
//
// Where a handler may find no stack left, it is the program's own overflow: in programs that ask where that was
// (abi::kTouchesStack) the trampoline looks for the stack first, and the stack pointer shown is as low as what it looked for.
//
// If we are killed while the program's handler runs, the place shown stands.

#include "engine/space/address_space.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

// Moves the thread to the probed place, and notes that in Thread::shown_faults, if the signal is a fault in our code. Does
// nothing otherwise. REQUIRES: the thread has stopped with a signal, which is
// going to be delivered.
void show_fault(const AddressSpace& space, Thread& thread);

// Sends the thread back into the trampoline if it is about to return from its handler. REQUIRES: it has stopped at a system call,
// and has shown_faults.
void return_from_shown_fault(const AddressSpace& space, Thread& thread);

}  // namespace spile::engine
