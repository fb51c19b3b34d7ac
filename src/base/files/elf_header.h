#pragma once
// Which ELF files are ours to read: those of 64 bits, and of this machine. The functions look at the first bytes alone; the rest
// of a header that they accept may still be wrong.

#include <elf.h>

#include <cstring>

#include "abi/native_elf.h"

namespace spile {

inline bool is_elf(const Elf64_Ehdr& header) { return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0; }
inline bool is_elf64(const Elf64_Ehdr& header) { return is_elf(header) && header.e_ident[EI_CLASS] == ELFCLASS64; }

inline bool is_native_elf(const Elf64_Ehdr& header) {
  return is_elf64(header) && header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_machine == abi::kElf.machine;
}

}  // namespace spile
