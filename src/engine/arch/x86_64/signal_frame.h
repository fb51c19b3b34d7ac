#pragma once
// The frame that the kernel puts on a stack when it delivers a signal, and takes off in rt_sigreturn(2). Here it is
// made by hand, as a net under threads that make system calls for us (Architecture::build_recovery_frame).

#include <sys/types.h>
#include <sys/user.h>

#include <span>

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

// Implements build_recovery_frame for registers with which the thread goes on: the caller has moved rip back over a call to be
// restarted. Fails if the thread's vector registers can't be read. REQUIRES: the thread is stopped; the caller is its tracer.
Result<RecoveryFrame> build_signal_frame(pid_t tid, const user_regs_struct& registers, uint64_t signal_mask, Address restore);
// Implements Architecture::find_system_call: looks for "syscall; ret", else "syscall", and for "mov $15, %rax; syscall" (or
// %eax).
void find_system_call(std::span<const uint8_t> text, Address at, SystemCallText& found);

}  // namespace spile::engine::x86_64
