// Reads of memory of processes and of the kernel, by helpers, which check the address. Words go by the program's stack (arch.h); strings are
// read word by word, so that they may have any length.

#include "runtime/native/native.h"

namespace spile::rt {

namespace {

// Copies bytes up to a NUL or the limit; returns the length, or -1. As load_text of native/load.cpp.
[[gnu::noinline]] int64_t load_text(uint64_t address, char* out, uint32_t limit) {
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

}  // namespace

extern "C" {

SPILE_INLINE bool spile_rt_load(Context*, uint64_t address, uint32_t size, bool is_signed, int64_t* value) {
  uint64_t word = 0;
  bool is_read = size == 1   ? load_word<1>(address, &word)
                 : size == 2 ? load_word<2>(address, &word)
                 : size == 4 ? load_word<4>(address, &word)
                             : load_word<8>(address, &word);
  uint32_t shift = 64 - 8 * size;
  *value = is_signed ? static_cast<int64_t>(word << shift) >> shift : static_cast<int64_t>(word);
  return is_read;
}

SPILE_INLINE bool spile_rt_store(Context*, uint64_t, uint32_t, int64_t) {
  return false;
}

[[gnu::noinline]] bool spile_rt_load_bytes(Context*, uint64_t address, char* out, uint32_t count) {
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

SPILE_INLINE int64_t spile_rt_load_string(Context*, uint64_t address, char* out, uint32_t limit) {
  out[0] = 0;
  // The last byte of `out` stays the NUL's, where the text is as long as the buffer.
  uint32_t most = limit < spile_rt_string_size ? limit : spile_rt_string_size - 1;
  int64_t length = load_text(address, out, most);
  out[length < 0 ? 0 : length] = 0;
  return length;
}

}  // extern "C"

}  // namespace spile::rt
