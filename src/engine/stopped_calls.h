#pragma once
// System calls that ptrace stops at (PTRACE_SYSCALL), before and after: which of them are to be reported. A call that the kernel makes
// again, because a stop of ours or a signal came in between, is one call.

#include "engine/terms/event.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

// Before the call. False: the call is not to be reported, or a handler in the process reports it.
bool enter_call(Thread& thread, const ThreadChange& change);
// After the call. Completes `change`, which the caller reports. False: the return is not to be reported.
bool leave_call(Thread& thread, const ThreadRegisters& registers, ThreadChange& change);

}  // namespace spile::engine
