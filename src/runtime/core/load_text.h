#pragma once
// Reads of ranges by load_word(), in processes and in the kernel.

#include "runtime/core/core.h"

namespace spile::rt {

namespace {

// Copies bytes up to a NUL or the limit; returns the length, or -1. Words at first, then bytes: a word that faults or has a NUL
// in it is read again byte by byte, as the string may end just before an unmapped page.
SPILE_COLD int64_t load_text(uint64_t address, char* out, uint32_t limit) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
  uint32_t length = 0;
  while (length + 8 <= limit) {
    uint64_t word;
    if (!load_word<8>(address + length, &word) || ((word - kOnes) & ~word & kHighs)) break;
    *reinterpret_cast<uint64_t*>(out + length) = word;
    length += 8;
  }
  for (; length < limit; ++length) {
    uint64_t byte;
    if (!load_word<1>(address + length, &byte)) return -1;
    out[length] = static_cast<char>(byte);
    if (!byte) return length;
  }
  return length;
}

// Copies `count` bytes. False: not all can be read.
SPILE_INLINE inline bool load_range(uint64_t address, char* out, uint32_t count) {
  uint32_t at = 0;
  for (uint64_t word; at + 8 <= count && load_word<8>(address + at, &word); at += 8) {
    *reinterpret_cast<uint64_t*>(out + at) = word;
  }
  for (uint64_t byte; at < count; ++at) {
    if (!load_word<1>(address + at, &byte)) return false;
    out[at] = static_cast<char>(byte);
  }
  return true;
}

}  // namespace

}  // namespace spile::rt
