#pragma once
// ELF files of the machine that spile is built for.

#include "abi/selected_machine.h"
#include SPILE_MACHINE_FILE(abi, elf.h)

namespace spile::abi {

inline constexpr const ElfKinds& kElf = SPILE_MACHINE::kElf;

}  // namespace spile::abi
