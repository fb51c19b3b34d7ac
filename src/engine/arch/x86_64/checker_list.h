#pragma once
// What a compiled handler may consist of: instructions on general registers and flags that are not privileged, one that
// reads a vector register (movq %xmm0, %rax), and system calls of known number. Everything else is refused, known or not.

#include <Zydis/Zydis.h>

#include <cstdint>

namespace spile::engine::x86_64 {

// Whether the instruction is in the list. Of some, only a few forms are allowed: CheckedInstruction::listed.
bool is_listed(const ZydisDecodedInstruction& instruction);

struct SystemCall {
  int64_t number;
  int writes = -1;    // the argument (0: rdi, 1: rsi, 2: rdx) that points to what the kernel writes; -1: none
  int argument = -1;  // the argument, counted in the same way, that must be `value`; -1: none
  int64_t value = 0;
  bool writes_indirectly = false;  // rsi points to a description of where to
  bool guru = false;               // only with -g
};
// Finds what is known of a system call. Null: not allowed. The result lives as long as spile.
const SystemCall* find_listed_call(int64_t number);

}  // namespace spile::engine::x86_64
