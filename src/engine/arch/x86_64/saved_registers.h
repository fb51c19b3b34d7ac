#pragma once
// The general registers but rsp, and where they are in abi::Registers.

#include <cstddef>
#include <cstdint>

#include "abi/trampoline.h"
#include "engine/arch/x86_64/assembler.h"

namespace spile::engine::x86_64 {

struct SavedRegister {
  Gpr reg;
  int32_t offset;
};
inline constexpr SavedRegister kSaved[] = {
    {kRax, offsetof(abi::Registers, rax)}, {kRdx, offsetof(abi::Registers, rdx)}, {kRcx, offsetof(abi::Registers, rcx)},
    {kRbx, offsetof(abi::Registers, rbx)}, {kRsi, offsetof(abi::Registers, rsi)}, {kRdi, offsetof(abi::Registers, rdi)},
    {kRbp, offsetof(abi::Registers, rbp)}, {kR8, offsetof(abi::Registers, r8)},   {kR9, offsetof(abi::Registers, r9)},
    {kR10, offsetof(abi::Registers, r10)}, {kR11, offsetof(abi::Registers, r11)}, {kR12, offsetof(abi::Registers, r12)},
    {kR13, offsetof(abi::Registers, r13)}, {kR14, offsetof(abi::Registers, r14)}, {kR15, offsetof(abi::Registers, r15)},
};
// Bytes that trampolines take from the stack for them.
inline constexpr int32_t kBlock = sizeof(abi::Registers);

}  // namespace spile::engine::x86_64
