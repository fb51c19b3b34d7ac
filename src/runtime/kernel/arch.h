#pragma once
// What the runtime has in the kernel in place of a processor's instructions (process/x86_64/arch.h), as eBPF: the kernel's helper
// functions (bpf-helpers(7)), and C++ where processes use assembly.
//
// All of the runtime's memory is in the arena, a BPF arena. To the verifier, its pointers are plain numbers;
// codegen/ebpf/pointers.cpp casts each of them where memory is accessed. Helpers don't take such pointers: what they write
// goes to a variable on the program's stack first.

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/core/attributes.h"
#include "runtime/kernel_identity.h"

namespace spile::rt {

// -- words of which the calling handler is the only writer: its level of its CPU is its own

SPILE_INLINE inline void add_in_place(uint64_t* p, uint64_t value) { *p += value; }
SPILE_INLINE inline uint32_t fetch_and_increment(uint32_t* p) { return (*p)++; }
SPILE_INLINE inline void decrement_in_place(uint32_t* p) { --*p; }

// -- time and place: kernel_identity.h

SPILE_INLINE inline void pause_cpu() {}

// -- memory of processes and of the kernel, which has the upper half of the addresses. The helpers reject the wrong half.

SPILE_INLINE inline bool is_kernel_address(uint64_t address) { return static_cast<int64_t>(address) < 0; }
// Reads a number by way of the program's stack. False: it can't be read.
template <typename T>
SPILE_INLINE inline bool read_memory(uint64_t address, T* value) {
  T copy = 0;
  using Read = long (*)(void*, uint32_t, uint64_t);
  long failed = is_kernel_address(address) ? helper<Read>(BPF_FUNC_probe_read_kernel)(&copy, sizeof copy, address)
                                           : helper<Read>(BPF_FUNC_probe_read_user)(&copy, sizeof copy, address);
  *value = copy;
  return failed == 0;
}
template <uint32_t kSize>
SPILE_INLINE inline bool load_word(uint64_t address, uint64_t* value) {
  if constexpr (kSize == 1) {
    uint8_t word;
    if (!read_memory(address, &word)) return false;
    *value = word;
  } else if constexpr (kSize == 2) {
    uint16_t word;
    if (!read_memory(address, &word)) return false;
    *value = word;
  } else if constexpr (kSize == 4) {
    uint32_t word;
    if (!read_memory(address, &word)) return false;
    *value = word;
  } else {
    uint64_t word;
    if (!read_memory(address, &word)) return false;
    *value = word;
  }
  return true;
}

// -- many bytes: loops of words serve

inline constexpr uint64_t kRepeatThreshold = ~uint64_t{0};

SPILE_INLINE inline void repeat_copy(char*, const char*, uint64_t) {}
SPILE_INLINE inline void repeat_fill(char* to, uint8_t byte, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    to[i] = static_cast<char>(byte);
    asm volatile("" ::: "memory");
  }
}

// Writes a number to memory of the process that runs. False: it can't be written, or is the kernel's.
template <typename T>
SPILE_INLINE inline bool write_memory(uint64_t address, T value) {
  using Write = long (*)(uint64_t, const void*, uint32_t);
  return !is_kernel_address(address) && helper<Write>(BPF_FUNC_probe_write_user)(address, &value, sizeof value) == 0;
}
template <uint32_t kSize>
SPILE_INLINE inline bool store_word(uint64_t address, uint64_t value) {
  if constexpr (kSize == 1) return write_memory(address, static_cast<uint8_t>(value));
  else if constexpr (kSize == 2) return write_memory(address, static_cast<uint16_t>(value));
  else if constexpr (kSize == 4) return write_memory(address, static_cast<uint32_t>(value));
  else return write_memory(address, value);
}

// -- numbers of 128 bits

// REQUIRES: shift < 64
SPILE_INLINE inline uint64_t shift_right_wide(uint64_t high, uint64_t low, uint32_t shift) {
  return shift == 0 ? low : high << (64 - shift) | low >> shift;
}
// a * b, from products of 32 bits.
SPILE_INLINE inline uint64_t multiply_wide(uint64_t a, uint64_t b, uint64_t* high) {
  uint64_t a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
  uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (middle & 0xffffffff);
  *high = a1 * b1 + (middle >> 32) + (other >> 32);
  return a * b;
}
// a * b / c, or the largest number where that needs more than 64 bits or c is 0: division bit by bit.
inline uint64_t multiply_divide(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t rest, low = multiply_wide(a, b, &rest), quotient = 0;
  if (rest >= c) return ~uint64_t{0};
  for (int bit = 63; bit >= 0; --bit) {
    bool carry = rest >> 63;
    rest = rest << 1 | (low >> bit & 1);
    quotient <<= 1;
    if (carry || rest >= c) {
      rest -= c;
      quotient |= 1;
    }
  }
  return quotient;
}

}  // namespace spile::rt
