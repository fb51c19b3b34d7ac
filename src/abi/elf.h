#pragma once
// The description of a machine's ELF files: the shape of the data. native_elf.h has the values for this machine.

#include <stdint.h>

namespace spile::abi {

struct ElfKinds {
  uint16_t machine;  // Elf64_Ehdr::e_machine
  // Types of relocations that the dynamic linker applies to a word:
  uint32_t relative;       // load bias + addend
  uint32_t absolute;       // the address of a symbol
  uint32_t jump_slot;      // the same, in the procedure linkage table's part of the global offset table
  uint32_t global_data;    // the same, elsewhere in it
  uint32_t thread_offset;  // where a thread-local variable is, from the thread pointer
  uint32_t thread_module;  // the number of a module that has thread-local variables
  char name[16];           // for messages
  char libraries[32];      // the folder of the machine's libraries in /lib and /usr/lib
  // Types that only relocatable objects have, to words of 32 bits:
  uint32_t absolute_32, signed_32;  // the address of a symbol, which fits without and with a sign
  uint32_t relative_32, call_32;    // its distance from the word; the second of code that calls or jumps
  uint32_t indirect;                // another type of relocation: what the function at load bias + addend returns (STT_GNU_IFUNC)
};

}  // namespace spile::abi
