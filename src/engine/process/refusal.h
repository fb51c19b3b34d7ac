#pragma once
// Why a process can't be traced: errors whose hints say what to do.

#include <sys/types.h>

#include "base/result.h"

namespace spile::engine {

// Refuses a process that does not exist, runs a 32-bit program, or is traced by another process.
Result<void> check_attachable(pid_t pid);
// Whether the process runs a 32-bit program.
bool is_32_bit(pid_t pid);

// Whether its program's file gives rights (set-uid, set-gid) that it does not have: the kernel gives none to what is traced
// by somebody without them.
bool lacks_file_rights(pid_t pid);
// Whether the process has got rights by the program that it has just executed (set-uid, set-gid, file capabilities). True also where that
// can't be seen.
bool has_gained_rights(pid_t pid);
// Explains why PTRACE_SEIZE of the process failed with errnum.
Error explain_refusal(pid_t pid, int errnum);

}  // namespace spile::engine
