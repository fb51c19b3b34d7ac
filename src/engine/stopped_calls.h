#pragma once
// System calls that ptrace stops at (PTRACE_SYSCALL), before and after: which of them are to be told of. A call that the kernel makes
// again, because a stop of ours or a signal came in between, is one call.

#include "engine/engine.h"
#include "engine/tracer.h"

namespace spile::engine {

// Before it. False: it is not to be told of, or is by a handler in the process.
bool enter_call(Thread& thread, const ThreadChange& change);
// After it; change: what is told then, made complete.
bool leave_call(Thread& thread, const ThreadRegisters& registers, ThreadChange& change);

}  // namespace spile::engine
