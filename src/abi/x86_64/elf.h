#pragma once
// ELF files of x86-64: System V psABI 1.0, chapter 4.4 "Relocation".

#include <elf.h>

#include "abi/elf.h"

namespace spile::abi::x86_64 {

inline constexpr ElfKinds kElf = {
    .machine = EM_X86_64,
    .relative = R_X86_64_RELATIVE,
    .absolute = R_X86_64_64,
    .jump_slot = R_X86_64_JUMP_SLOT,
    .global_data = R_X86_64_GLOB_DAT,
    .thread_offset = R_X86_64_TPOFF64,
    .thread_module = R_X86_64_DTPMOD64,
    .name = "x86-64",
    .libraries = "x86_64-linux-gnu",
    .absolute_32 = R_X86_64_32,
    .signed_32 = R_X86_64_32S,
    .relative_32 = R_X86_64_PC32,
    .call_32 = R_X86_64_PLT32,
    .indirect = R_X86_64_IRELATIVE,
};

}  // namespace spile::abi::x86_64
