#pragma once
// What a compiled handler may consist of: instructions on general registers and flags that are not privileged, one that
// reads a vector register (movq %xmm0, %rax), and system calls of known number. Everything else is refused, known or not.

#include <Zydis/Zydis.h>

#include <cstdint>

namespace spile::engine::x86_64 {

bool is_listed(const ZydisDecodedInstruction& instruction);

struct SystemCall {
  int64_t number;
  int writes = -1;    // the argument (0: rdi, 1: rsi, 2: rdx) that points to what the kernel writes; -1: none
  int argument = -1;  // which must be `value`; -1: none
  int64_t value = 0;
  bool writes_indirectly = false;  // rsi points to a description of where to
  bool guru = false;               // only with -g
};
// Null: not allowed.
const SystemCall* find_listed_call(int64_t number);

}  // namespace spile::engine::x86_64
