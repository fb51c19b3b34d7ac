#pragma once
// One load that may fault (load.cpp says who catches it).

#include "runtime/native/native.h"

namespace spile::rt {

#define SPILE_LOAD(INSTRUCTION, ...)             \
  asm goto("1: " INSTRUCTION                     \
           "\n" SPILE_FIXUP(1b, %l[fault])        \
           : "=r"(word)                          \
           : __VA_ARGS__                         \
           :                                     \
           : fault)

// Reads `kSize` bytes, zero-extended. False: they can't be read.
template <uint32_t kSize>
SPILE_INLINE inline bool load_word(uint64_t address, uint64_t* value) {
  uint64_t word;
  if constexpr (kSize == 1) {
    SPILE_LOAD("movzbl (%1), %k0", "r"(address));
  } else if constexpr (kSize == 2) {
    SPILE_LOAD("movzwl (%1), %k0", "r"(address));
  } else if constexpr (kSize == 4) {
    SPILE_LOAD("movl (%1), %k0", "r"(address));
  } else {
    SPILE_LOAD("movq (%1), %0", "r"(address));
  }
  *value = word;
  return true;
fault:
  return false;
}

#define SPILE_STORE(INSTRUCTION)                 \
  asm goto("1: " INSTRUCTION                     \
           "\n" SPILE_FIXUP(1b, %l[fault])        \
           :                                     \
           : "r"(value), "r"(address)            \
           : "memory"                            \
           : fault)

// Writes the low `kSize` bytes. False: they can't be written.
template <uint32_t kSize>
SPILE_INLINE inline bool store_word(uint64_t address, uint64_t value) {
  if constexpr (kSize == 1) {
    SPILE_STORE("movb %b0, (%1)");
  } else if constexpr (kSize == 2) {
    SPILE_STORE("movw %w0, (%1)");
  } else if constexpr (kSize == 4) {
    SPILE_STORE("movl %k0, (%1)");
  } else {
    SPILE_STORE("movq %0, (%1)");
  }
  return true;
fault:
  return false;
}

// The word at fs:0. False: the fs base of this thread points nowhere.
SPILE_INLINE inline bool load_word_at_fs(uint64_t* value) {
  uint64_t word;
  SPILE_LOAD("movq %%fs:0, %0", );
  *value = word;
  return true;
fault:
  return false;
}

}  // namespace spile::rt
