#pragma once
// ELF files of the machine that spile is built for.

#if defined(__x86_64__)
#include "abi/x86_64/elf.h"
#else
#error "engine/arch/README.md says what another machine needs"
#endif

namespace spile::abi {

#if defined(__x86_64__)
inline constexpr const ElfKinds& kElf = x86_64::kElf;
#endif

}  // namespace spile::abi
