#pragma once
// Whether it matters where a process's system calls come from. Those with a site come from a trampoline: a seccomp filter that looks at
// the instruction pointer (seccomp(2)) would take them for others, and syscall user dispatch (prctl(2)) make signals of them. Such a
// process must not have these sites, and ptrace reports its calls: it sees them after the one and behind the other.

#include <sys/types.h>

#include <string>

#include "abi/trampoline.h"
#include "engine/process/target_memory.h"

namespace spile::engine {

// Of a thread that stands still: why it must not have them; empty: it may. Only Linux 6.4 and later report syscall user dispatch.
// Filters can be read with CAP_SYS_ADMIN; those that a thread has in common with spile itself are taken for harmless otherwise.
std::string call_restriction(pid_t tid);
// Why a process must not have them after this call, which is about to be made; empty: it may.
std::string call_restriction_by(const TargetMemory& memory, const abi::Registers& call);

// As many seccomp filters judge it as judge us: it has inherited them from whoever started both.
bool is_filtered_as_we_are(pid_t tid);
// A thread that stands still has syscall user dispatch.
bool has_dispatch(pid_t tid);
// The thread's calls would become signals where it stands: those that we make it do too, if they are made at `call`.
bool is_dispatched(pid_t tid, const TargetMemory& memory, Address call);

}  // namespace spile::engine
