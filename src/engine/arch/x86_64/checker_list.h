#pragma once
// What a compiled handler may consist of: instructions on general registers and flags that are not privileged, and one that
// reads a vector register (movq %xmm0, %rax). Everything else is refused, known or not; above all system calls.

#include <Zydis/Zydis.h>

#include <cstdint>

namespace spile::engine::x86_64 {

// Whether the instruction is in the list. Of some, only a few forms are allowed: CheckedInstruction::listed.
bool is_listed(const ZydisDecodedInstruction& instruction);

}  // namespace spile::engine::x86_64
