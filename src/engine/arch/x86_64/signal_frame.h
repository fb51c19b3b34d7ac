#pragma once
// The frame that the kernel puts on a stack when it delivers a signal, and takes off in rt_sigreturn(2). Here it is
// made by hand, as a net under threads that make system calls for us (Architecture::build_recovery_frame).

#include <sys/types.h>
#include <sys/user.h>

#include <span>

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

Result<RecoveryFrame> build_signal_frame(pid_t tid, const user_regs_struct& registers, uint64_t signal_mask,
                                         Address restore);
// "syscall; ret" for the call, "mov $15, %rax; syscall" for the restorer.
void find_system_call(std::span<const uint8_t> text, Address at, SystemCallText& found);

}  // namespace spile::engine::x86_64
