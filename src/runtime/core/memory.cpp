// Copying, filling and comparing memory without libc. LLVM itself emits calls of memcpy, memmove, memset and memcmp, so
// the bitcode defines them; the loops of these functions are assembly, or LLVM would recognize them and call
// themselves.

#include "runtime/core/core.h"

namespace spile::rt {

namespace {

struct [[gnu::packed, gnu::may_alias]] Word {
  uint64_t value;
};

SPILE_INLINE inline uint64_t word_at(const void* p) { return static_cast<const Word*>(p)->value; }
SPILE_INLINE inline void set_word(void* p, uint64_t value) { static_cast<Word*>(p)->value = value; }

inline constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;

}  // namespace

void copy_bytes(void* to, const void* from, uint64_t count) {
  char* out = static_cast<char*>(to);
  const char* in = static_cast<const char*>(from);
  if (count >= kRepeatThreshold) {
    if (may_access(out, count, true) && may_access(in, count, false)) repeat_copy(out, in, count);
    return;
  }
  if (count >= 8) {
    // The last word may overlap the one before it; read first, as the ranges may be the same.
    uint64_t tail = word_at(in + count - 8);
    char* last = out + count - 8;
    for (; out < last; out += 8, in += 8) {
      set_word(out, word_at(in));
      compiler_barrier();  // keeps this a loop of words, not a call of memcpy
    }
    set_word(last, tail);
    return;
  }
  for (; count; --count) {
    *out++ = *in++;
    compiler_barrier();
  }
}

void zero_bytes(void* to, uint64_t count) {
  char* out = static_cast<char*>(to);
  if (count >= kRepeatThreshold) {
    if (may_access(out, count, true)) repeat_fill(out, 0, count);
    return;
  }
  for (; count >= 8; count -= 8, out += 8) {
    set_word(out, 0);
    compiler_barrier();
  }
  for (; count; --count) {
    *out++ = 0;
    compiler_barrier();
  }
}

// Reads whole words past the end of the text, but never into a page that the text is not in.
__attribute__((no_sanitize("address"))) uint32_t bounded_length(const char* text, uint32_t limit) {
  uint32_t length = 0;
  while (length < limit) {
    if ((reinterpret_cast<uintptr_t>(text + length) & (abi::kPageSize - 1)) <= abi::kPageSize - 8) {
      uint64_t word = word_at(text + length);
      uint64_t zeros = (word - kOnes) & ~word & kHighs;
      if (zeros) {
        length += static_cast<uint32_t>(__builtin_ctzll(zeros)) / 8;
        return length < limit ? length : limit;
      }
      length += 8;
    } else {
      if (!text[length]) return length;
      ++length;
    }
    compiler_barrier();
  }
  return limit;
}

#ifdef SPILE_BITCODE
extern "C" {
// `used`: code generation may introduce calls after the module has been linked.
[[gnu::used]] SPILE_HIDDEN void* memcpy(void* to, const void* from, size_t count) {
  copy_bytes(to, from, count);
  return to;
}
[[gnu::used]] SPILE_HIDDEN void* memmove(void* to, const void* from, size_t count) {
  char* out = static_cast<char*>(to);
  const char* in = static_cast<const char*>(from);
  if (static_cast<size_t>(out - in) >= count) {
    copy_bytes(to, from, count);
    return to;
  }
  for (; count >= 8; count -= 8) set_word(out + count - 8, word_at(in + count - 8)), compiler_barrier();
  for (; count; --count) out[count - 1] = in[count - 1], compiler_barrier();
  return to;
}
[[gnu::used]] SPILE_HIDDEN void* memset(void* to, int byte, size_t count) {
  if (may_access(to, count, true)) repeat_fill(static_cast<char*>(to), static_cast<uint8_t>(byte), count);
  return to;
}
[[gnu::used]] SPILE_HIDDEN int memcmp(const void* a, const void* b, size_t count) {
  const uint8_t* x = static_cast<const uint8_t*>(a);
  const uint8_t* y = static_cast<const uint8_t*>(b);
  for (; count; --count, ++x, ++y) {
    if (*x != *y) return *x < *y ? -1 : 1;
    compiler_barrier();
  }
  return 0;
}
[[gnu::used]] SPILE_HIDDEN int bcmp(const void* a, const void* b, size_t count) { return memcmp(a, b, count); }
}
#endif

}  // namespace spile::rt
