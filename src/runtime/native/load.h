#pragma once
// One load that may fault (load.cpp tells who catches it).

#include "runtime/native/native.h"

namespace spile::rt {

#ifdef SPILE_BITCODE
#define SPILE_FIXUPS ".spile.fixups"
#else
#define SPILE_FIXUPS "spile_fixups"  // a name for which the linker makes __start_ and __stop_ symbols
#endif

#define SPILE_LOAD(INSTRUCTION)                  \
  asm goto("1: " INSTRUCTION                     \
           "\n"                                  \
           ".pushsection " SPILE_FIXUPS          \
           ",\"a\",@progbits\n.balign 4\n"       \
           ".long 1b - .\n.long %l[fault] - .\n" \
           ".popsection"                         \
           : "=r"(word)                          \
           : "r"(address)                        \
           :                                     \
           : fault)

// Reads `kSize` bytes, zero-extended. False: they can't be read.
template <uint32_t kSize>
SPILE_INLINE inline bool load_word(uint64_t address, uint64_t* value) {
  uint64_t word;
  if constexpr (kSize == 1) {
    SPILE_LOAD("movzbl (%1), %k0");
  } else if constexpr (kSize == 2) {
    SPILE_LOAD("movzwl (%1), %k0");
  } else if constexpr (kSize == 4) {
    SPILE_LOAD("movl (%1), %k0");
  } else {
    SPILE_LOAD("movq (%1), %0");
  }
  *value = word;
  return true;
fault:
  return false;
}

}  // namespace spile::rt
