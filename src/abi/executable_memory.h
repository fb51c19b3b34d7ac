#pragma once
// Which system calls of x86-64 Linux may bring executable memory into a process, in which nobody has looked for system call
// instructions yet.

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

}  // namespace spile::abi
