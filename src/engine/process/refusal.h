#pragma once
// Why a process can't be traced: errors whose hints say what to do. Any thread; the process need not be traced.

#include <sys/types.h>

#include "base/result.h"

namespace spile::engine {

// Refuses what can't be attached to: a process that does not exist, has ended, is this one or a kernel thread, is traced already
// (by this spile, too) or whose program can't be seen, and a thread other than a process's first.
Result<void> check_attachable(pid_t pid);
// Whether the process runs a 32-bit program. False where that can't be seen.
bool is_32_bit(pid_t pid);

// Whether the file of the process's program gives rights (set-uid, set-gid) that the process does not have: the kernel gives none
// to what is traced by somebody without them. False where the file can't be seen.
bool lacks_file_rights(pid_t pid);
// Whether the process has got rights by the program that it has just executed (set-uid, set-gid, file capabilities). True also
// where that can't be seen. Always false if its real user is root, who could have them before.
bool has_gained_rights(pid_t pid);
// Explains why PTRACE_SEIZE of the process failed with errnum, an errno; says more of EPERM and ESRCH than the number does.
Error explain_refusal(pid_t pid, int errnum);

}  // namespace spile::engine
