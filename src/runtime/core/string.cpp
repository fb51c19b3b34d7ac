// Strings: NUL-terminated, at most spile_rt_string_size bytes with the NUL; what doesn't fit is cut off.

#include "runtime/core/core.h"

namespace spile::rt {

extern "C" {

uint32_t spile_rt_string_length(const char* text) { return bounded_length(text, spile_rt_string_size - 1); }

[[gnu::noinline]] void spile_rt_string_copy(char* out, const char* text) {
  if (out == text) return;
  uint32_t length = spile_rt_string_length(text);
  copy_bytes(out, text, length);
  out[length] = 0;
}

// `b` may be `out` too, so it is moved before `a` is copied over it.
[[gnu::noinline]] void spile_rt_string_concatenate(char* out, const char* a, const char* b) {
  uint32_t a_length = spile_rt_string_length(a);
  uint32_t b_length = spile_rt_string_length(b);
  uint32_t room = spile_rt_string_size - 1 - a_length;
  if (b_length > room) b_length = room;
  if (b != out || a_length == 0) {
    copy_bytes(out + a_length, b, b_length);
  } else {
    for (uint32_t i = b_length; i-- > 0;) {
      out[a_length + i] = b[i];
      compiler_barrier();
    }
  }
  if (a != out) copy_bytes(out, a, a_length);
  out[a_length + b_length] = 0;
}

[[gnu::noinline]] int32_t spile_rt_string_compare(const char* a, const char* b) {
  for (uint32_t i = 0; i < spile_rt_string_size; ++i) {
    uint8_t x = static_cast<uint8_t>(a[i]), y = static_cast<uint8_t>(b[i]);
    if (x != y) return x < y ? -1 : 1;
    if (!x) return 0;
    compiler_barrier();
  }
  return 0;
}

}  // extern "C"

}  // namespace spile::rt
