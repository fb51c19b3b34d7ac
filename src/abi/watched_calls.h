#pragma once
// System calls of x86-64 Linux that change where handlers of system calls may run: those that may bring executable memory into
// a process, in which nobody has looked for system call instructions yet, and those after which it matters where a call comes from.
// Their handlers stop for the controller (kCallBell in abi/arena.h).

#include "abi/trampoline.h"

namespace spile::abi {

// registers: as the program has set them for the call.
inline bool adds_executable_memory(uint64_t number, const Registers& registers) {
  enum : uint64_t { kMmap = 9, kMprotect = 10, kShmat = 30, kPersonality = 135, kPkeyMprotect = 329 };
  constexpr uint64_t kExecutable = 4, kSharedExecutable = 0100000, kReadImpliesExec = 0x0400000, kOnlyAsk = 0xffffffff;
  if (number == kMmap || number == kMprotect || number == kPkeyMprotect) return registers.rdx & kExecutable;
  if (number == kShmat) return registers.rdx & kSharedExecutable;
  return number == kPersonality && (registers.rdi & kReadImpliesExec) && registers.rdi != kOnlyAsk;
}

// Syscall user dispatch (prctl(2), PR_SET_SYSCALL_USER_DISPATCH).
inline bool sets_user_dispatch(uint64_t number, const Registers& registers) {
  constexpr uint64_t kPrctl = 157, kSetSyscallUserDispatch = 59;
  return number == kPrctl && registers.rdi == kSetSyscallUserDispatch && registers.rsi != 0;
}

// The address of the struct sock_fprog of a seccomp filter that the call puts on; 0: it puts none on.
inline uint64_t added_filter(uint64_t number, const Registers& registers) {
  enum : uint64_t { kPrctl = 157, kSeccomp = 317, kSetSeccomp = 22, kModeFilter = 2, kSetModeFilter = 1 };
  bool by_prctl = number == kPrctl && registers.rdi == kSetSeccomp && registers.rsi == kModeFilter;
  bool by_seccomp = number == kSeccomp && static_cast<uint32_t>(registers.rdi) == kSetModeFilter;
  return by_prctl || by_seccomp ? registers.rdx : 0;
}

inline bool may_judge_places(uint64_t number, const Registers& registers) {
  return sets_user_dispatch(number, registers) || added_filter(number, registers) != 0;
}

}  // namespace spile::abi
