#pragma once
// Why a process can't be traced, in words that say what to do.

#include <sys/types.h>

#include "base/result.h"

namespace spile::engine {

// Whether it exists, is a 64-bit program, and isn't traced by someone else.
Result<void> check_attachable(pid_t pid);
// Whether it runs a 32-bit program.
bool is_32_bit(pid_t pid);

// Whether its program's file gives rights (set-uid, set-gid) that it does not have: the kernel gives none to what is traced
// by somebody without them.
bool lacks_file_rights(pid_t pid);
// By the program that it has just executed (set-uid, set-gid, file capabilities), or where that can't be seen.
bool has_gained_rights(pid_t pid);
// PTRACE_SEIZE failed with errnum.
Error explain_refusal(pid_t pid, int errnum);

}  // namespace spile::engine
