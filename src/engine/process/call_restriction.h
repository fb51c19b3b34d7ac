#pragma once
// Whether it matters where a process's system calls come from. A call whose instruction has a site comes from a trampoline: a
// seccomp filter that looks at the instruction pointer (seccomp(2)) would take it for another call, and syscall user dispatch
// (prctl(2)) would make a signal of it. Such a process must not have sites at system call instructions, and ptrace reports its
// calls: ptrace sees a call after dispatch has let it pass, and before the filter looks at it.
//
// Reasons are parts of sentences, for CallReporting. Functions that take a `tid` are for its tracer's thread; the thread must
// stand still.

#include <sys/types.h>

#include <string>

#include "abi/trampoline.h"
#include "base/result.h"
#include "engine/process/target_memory.h"

namespace spile::engine {

// Returns why a thread must not have sites at system call instructions; empty: it may have them. Only Linux 6.4 and later
// report syscall user dispatch. Filters can be read with CAP_SYS_ADMIN; those that a thread has in common with spile itself are
// taken for harmless otherwise.
std::string call_restriction(pid_t tid);
// Returns why a process must not have them after this call (its number in site_id), which it is about to make; empty: it may.
// memory: the process's, which has the filter that the call adds.
std::string call_restriction_by(const TargetMemory& memory, const abi::Registers& call);

// Whether the thread has as many seccomp filters as spile itself: then both are taken to have inherited them from the process
// that started both. Needs no tracer. False before Linux 5.9, which does not report the number.
bool is_filtered_as_we_are(pid_t tid);
// Why we don't have a thread make calls under its seccomp filter.
Error refusal_for_filter(pid_t tid);
// Refuses a process of which each thread has a filter that neither can be suspended for calls on our behalf (CAP_SYS_ADMIN)
// nor is one of spile's own. Needs no tracer, so that the process is not stopped for nothing.
Result<void> check_filters(pid_t pid);
// Whether a thread has syscall user dispatch. False before Linux 6.4.
bool has_dispatch(pid_t tid);
// Whether calls that we make the thread do by the instruction at `call` would become signals now, by its syscall user dispatch.
bool is_dispatched(pid_t tid, const TargetMemory& memory, Address call);

}  // namespace spile::engine
