#pragma once
// System calls that change where handlers of system calls may run: those that may bring executable memory into
// a process, which has not been searched for system call instructions yet, and those after which it matters where a call comes
// from. Their handlers stop for the controller (kCallBell in abi/arena.h).

#include <asm/unistd.h>

#include "abi/system_calls.h"
#include "abi/trampoline.h"

namespace spile::abi {

// Of all functions here: number: the call's; registers: as the program has set them for the call.
// Returns whether the call may map executable memory, make memory executable, or make all readable memory so.
inline bool adds_executable_memory(uint64_t number, const Registers& registers) {
  constexpr uint64_t kExecutable = 4, kSharedExecutable = 0100000, kReadImpliesExec = 0x0400000, kOnlyAsk = 0xffffffff;
  const uint64_t first = system_call_argument(registers, 0), third = system_call_argument(registers, 2);
  if (number == __NR_mmap || number == __NR_mprotect || number == __NR_pkey_mprotect) return third & kExecutable;
  if (number == __NR_shmat) return third & kSharedExecutable;
  if (SPILE_MACHINE::maps_foreign_memory(number)) return true;
  return number == __NR_personality && (first & kReadImpliesExec) && first != kOnlyAsk;
}

// Returns whether the call turns on syscall user dispatch (prctl(2), PR_SET_SYSCALL_USER_DISPATCH).
inline bool sets_user_dispatch(uint64_t number, const Registers& registers) {
  constexpr uint64_t kSetSyscallUserDispatch = 59;
  return number == __NR_prctl && system_call_argument(registers, 0) == kSetSyscallUserDispatch &&
         system_call_argument(registers, 1) != 0;
}

// Returns the run-time address of the struct sock_fprog of a seccomp filter that the call installs; 0: it installs none.
inline uint64_t added_filter(uint64_t number, const Registers& registers) {
  enum : uint64_t { kSetSeccomp = 22, kModeFilter = 2, kSetModeFilter = 1 };
  const uint64_t first = system_call_argument(registers, 0);
  bool by_prctl = number == __NR_prctl && first == kSetSeccomp && system_call_argument(registers, 1) == kModeFilter;
  bool by_seccomp = number == __NR_seccomp && static_cast<uint32_t>(first) == kSetModeFilter;
  return by_prctl || by_seccomp ? system_call_argument(registers, 2) : 0;
}

// Returns whether the result of later calls may depend on where they come from.
inline bool may_judge_places(uint64_t number, const Registers& registers) {
  return sets_user_dispatch(number, registers) || added_filter(number, registers) != 0;
}

}  // namespace spile::abi
