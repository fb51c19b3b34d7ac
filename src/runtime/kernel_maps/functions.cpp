// Functions of the language's library (sema/intrinsics.h) that handlers in the kernel can call. What is not here would
// take loops that the verifier has to walk through; the lowering refuses it by name.

#include "runtime/kernel_maps/kernel_maps.h"

namespace spile::rt {

// What the traced program has at `address`, or `otherwise`.
SPILE_INLINE inline bool string_at(Context* context, int64_t address, int64_t length, char* out) {
  uint32_t limit = length < 0 || length > spile_rt_string_size ? spile_rt_string_size : static_cast<uint32_t>(length);
  return spile_rt_load_string(context, static_cast<uint64_t>(address), out, limit) >= 0;
}

SPILE_INLINE inline int64_t number_at(Context* context, int64_t address, uint32_t size, bool is_signed, bool* fault) {
  int64_t value;
  *fault = !spile_rt_load(context, static_cast<uint64_t>(address), size, is_signed, &value);
  return value;
}

extern "C" {

SPILE_INLINE int64_t spile_fn_randint(Context*, int64_t below) {
  uint64_t random = helper<uint32_t (*)()>(BPF_FUNC_get_prandom_u32)();
  return below > 0 ? static_cast<int64_t>(random % static_cast<uint64_t>(below)) : 0;
}

SPILE_INLINE int64_t spile_fn___task_current(Context*) {
  return helper<int64_t (*)()>(BPF_FUNC_get_current_task)();
}

SPILE_INLINE int64_t spile_fn_ktime_get_ns(Context*) {
  return static_cast<int64_t>(monotonic_ns());
}
// As in processes, one clock stands for those of all processors.
#define SPILE_CLOCK_FUNCTION(UNIT, NS)                                          \
  SPILE_INLINE int64_t spile_fn_local_clock_##UNIT(Context* context) {          \
    return static_cast<int64_t>(static_cast<uint64_t>(spile_rt_clock_ns(context)) / NS); \
  }                                                                             \
  SPILE_INLINE int64_t spile_fn_cpu_clock_##UNIT(Context* context, int64_t) {   \
    return spile_fn_local_clock_##UNIT(context);                                \
  }
SPILE_CLOCK_FUNCTION(ns, 1)
SPILE_CLOCK_FUNCTION(us, 1'000)
SPILE_CLOCK_FUNCTION(ms, 1'000'000)
SPILE_CLOCK_FUNCTION(s, 1'000'000'000)
#undef SPILE_CLOCK_FUNCTION

SPILE_INLINE int64_t spile_fn_strlen(Context*, const char* text) {
  return spile_rt_string_length(text);
}

SPILE_INLINE int64_t spile_fn_stringat(Context*, const char* text, int64_t position) {
  uint32_t length = spile_rt_string_length(text);
  uint64_t at = opaque(static_cast<uint64_t>(position));
  if (at >= length || at >= spile_rt_string_size) return 0;
  return static_cast<uint8_t>(text[at]);
}

SPILE_INLINE void spile_fn_substr(Context*, const char* text, int64_t start, int64_t length, char* out) {
  *out = 0;
  uint32_t all = spile_rt_string_length(text);
  uint64_t at = opaque(static_cast<uint64_t>(start));
  if (length <= 0 || at >= all || at >= spile_rt_string_size) return;
  uint64_t room = opaque(static_cast<uint64_t>(length) + 1);
  if (room > spile_rt_string_size) room = spile_rt_string_size;
  read_kernel_string(out, static_cast<uint32_t>(room), text + at);
}

SPILE_INLINE void spile_fn_user_string(Context* context, int64_t address, char* out, bool* fault) {
  *fault = !string_at(context, address, -1, out);
}
SPILE_INLINE void spile_fn_user_string2(Context* context, int64_t address, const char* otherwise, char* out) {
  if (!string_at(context, address, -1, out)) spile_rt_string_copy(out, otherwise);
}
SPILE_INLINE void spile_fn_user_string_n(Context* context, int64_t address, int64_t length, char* out, bool* fault) {
  *fault = !string_at(context, address, length, out);
}
SPILE_INLINE void spile_fn_user_string_n2(Context* context, int64_t address, int64_t length, const char* otherwise,
                                          char* out) {
  if (!string_at(context, address, length, out)) spile_rt_string_copy(out, otherwise);
}

#define SPILE_LOAD_FUNCTION(NAME, SIZE, SIGNED)                                                       \
  SPILE_INLINE int64_t spile_fn_user_##NAME(Context* context, int64_t address) {                      \
    bool fault;                                                                                       \
    return number_at(context, address, SIZE, SIGNED, &fault);                                         \
  }                                                                                                   \
  SPILE_INLINE int64_t spile_fn_user_##NAME##_error(Context* context, int64_t address, bool* fault) { \
    return number_at(context, address, SIZE, SIGNED, fault);                                          \
  }
SPILE_LOAD_FUNCTION(char, 1, true)
SPILE_LOAD_FUNCTION(short, 2, true)
SPILE_LOAD_FUNCTION(ushort, 2, false)
SPILE_LOAD_FUNCTION(int, 4, true)
SPILE_LOAD_FUNCTION(uint, 4, false)
SPILE_LOAD_FUNCTION(long, 8, true)
SPILE_LOAD_FUNCTION(ulong, 8, false)
SPILE_LOAD_FUNCTION(int8, 1, true)
SPILE_LOAD_FUNCTION(uint8, 1, false)
SPILE_LOAD_FUNCTION(int16, 2, true)
SPILE_LOAD_FUNCTION(uint16, 2, false)
SPILE_LOAD_FUNCTION(int32, 4, true)
SPILE_LOAD_FUNCTION(uint32, 4, false)
SPILE_LOAD_FUNCTION(int64, 8, true)
SPILE_LOAD_FUNCTION(uint64, 8, false)
#undef SPILE_LOAD_FUNCTION

#define SPILE_KERNEL_FUNCTION(NAME, SIZE, SIGNED)                                               \
  SPILE_INLINE int64_t spile_fn_kernel_##NAME(Context* context, int64_t address, bool* fault) { \
    return number_at(context, address, SIZE, SIGNED, fault);                                    \
  }
SPILE_KERNEL_FUNCTION(char, 1, true)
SPILE_KERNEL_FUNCTION(short, 2, true)
SPILE_KERNEL_FUNCTION(int, 4, true)
SPILE_KERNEL_FUNCTION(long, 8, true)
SPILE_KERNEL_FUNCTION(pointer, 8, false)
#undef SPILE_KERNEL_FUNCTION
SPILE_INLINE void spile_fn_kernel_string(Context* context, int64_t address, char* out, bool* fault) {
  *fault = !string_at(context, address, -1, out);
}
SPILE_INLINE void spile_fn_kernel_string2(Context* context, int64_t address, const char* otherwise, char* out) {
  if (!string_at(context, address, -1, out)) spile_rt_string_copy(out, otherwise);
}
SPILE_INLINE void spile_fn_kernel_string_n(Context* context, int64_t address, int64_t length, char* out, bool* fault) {
  *fault = !string_at(context, address, length, out);
}

}  // extern "C"

}  // namespace spile::rt
