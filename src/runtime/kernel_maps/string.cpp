// Strings, by the helpers that copy them: the only way to find a string's end without a loop.

#include "runtime/kernel_maps/kernel_maps.h"

namespace spile::rt {

extern "C" {

// The copy goes to a place that nobody reads: handlers of other levels may write it at the same time.
SPILE_INLINE uint32_t spile_rt_string_length(const char* text) {
  abi::KernelState* state = cpu_state();
  if (!state) return 0;
  uint32_t size = spile_rt_string_size < abi::kMaxKernelString ? spile_rt_string_size : abi::kMaxKernelString;
  long length = read_kernel_string(state->sink, size, text);
  return length > 0 ? static_cast<uint32_t>(length) - 1 : 0;
}

SPILE_INLINE void spile_rt_string_copy(char* out, const char* text) {
  if (out != text) read_kernel_string(out, spile_rt_string_size, text);
}

// To the verifier `b` may begin at the very end of `out`: scratch memory goes on for another string there.
SPILE_INLINE void spile_rt_string_concatenate(char* out, const char* a, const char* b) {
  uint32_t at = spile_rt_string_length(a);
  spile_rt_string_copy(out, a);
  at = opaque(at);
  if (at >= spile_rt_string_size) return;
  uint32_t room = opaque(spile_rt_string_size - at);
  if (room > spile_rt_string_size) return;
  read_kernel_string(out + at, room, b);
}

// Loops until the first difference. Nothing that the loop computes is alive after it but the result, so that the
// verifier takes all of its ends for the same.
SPILE_INLINE int32_t spile_rt_string_compare(const char* a, const char* b) {
  int32_t result = 0;
#pragma clang loop unroll(disable)
  for (uint32_t i = 0; i < spile_rt_string_size; ++i) {
    uint8_t x = static_cast<uint8_t>(a[i]), y = static_cast<uint8_t>(b[i]);
    if (x != y) {
      result = x < y ? -1 : 1;
      break;
    }
    if (!x) break;
  }
  return opaque(result);
}

}  // extern "C"

}  // namespace spile::rt
