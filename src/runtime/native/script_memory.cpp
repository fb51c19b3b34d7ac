// The library's functions that read the traced program's memory. `fault` is set where it can't be read.

#include "runtime/native/script_functions.h"

namespace spile::rt {

namespace {

SPILE_INLINE inline int64_t load_or_fault(Context* context, int64_t address, uint32_t size, bool is_signed,
                                          bool* fault) {
  int64_t value = 0;
  if (unlikely(!spile_rt_load(context, static_cast<uint64_t>(address), size, is_signed, &value))) *fault = true;
  return value;
}

// A limit from a script, as load_string takes it.
SPILE_INLINE inline uint32_t limit_of(int64_t count) {
  if (count < 0) return 0;
  return count < spile_rt_string_size ? static_cast<uint32_t>(count) : spile_rt_string_size;
}

}  // namespace

extern "C" {

#define SPILE_USER_NUMBER(NAME, SIZE, SIGNED)                                                 \
  SPILE_INLINE int64_t spile_fn_user_##NAME(Context* context, int64_t address, bool* fault) { \
    return load_or_fault(context, address, SIZE, SIGNED, fault);                              \
  }
SPILE_USER_NUMBER(char, 1, true)
SPILE_USER_NUMBER(short, 2, true)
SPILE_USER_NUMBER(ushort, 2, false)
SPILE_USER_NUMBER(int, 4, true)
SPILE_USER_NUMBER(uint, 4, false)
SPILE_USER_NUMBER(long, 8, true)
SPILE_USER_NUMBER(ulong, 8, false)
SPILE_USER_NUMBER(int8, 1, true)
SPILE_USER_NUMBER(uint8, 1, false)
SPILE_USER_NUMBER(int16, 2, true)
SPILE_USER_NUMBER(uint16, 2, false)
SPILE_USER_NUMBER(int32, 4, true)
SPILE_USER_NUMBER(uint32, 4, false)
SPILE_USER_NUMBER(int64, 8, true)
SPILE_USER_NUMBER(uint64, 8, false)
#undef SPILE_USER_NUMBER

SPILE_INLINE void spile_fn_user_string(Context* context, int64_t address, char* out, bool* fault) {
  if (spile_rt_load_string(context, static_cast<uint64_t>(address), out, spile_rt_string_size) < 0) *fault = true;
}
SPILE_INLINE void spile_fn_user_string2(Context* context, int64_t address, const char* otherwise, char* out) {
  if (spile_rt_load_string(context, static_cast<uint64_t>(address), out, spile_rt_string_size) < 0) {
    spile_rt_string_copy(out, otherwise);
  }
}
SPILE_INLINE void spile_fn_user_string_n(Context* context, int64_t address, int64_t count, char* out, bool* fault) {
  if (spile_rt_load_string(context, static_cast<uint64_t>(address), out, limit_of(count)) < 0) *fault = true;
}
SPILE_INLINE void spile_fn_user_string_n2(Context* context, int64_t address, int64_t count, const char* otherwise,
                                          char* out) {
  if (spile_rt_load_string(context, static_cast<uint64_t>(address), out, limit_of(count)) < 0) {
    spile_rt_string_copy(out, otherwise);
  }
}

// "text" with escapes; NULL; or the address where nothing can be read.
[[gnu::noinline]] void spile_fn_user_string_quoted(Context* context, int64_t address, char* out) {
  if (address == 0) return spile_rt_string_copy(out, "NULL");
  uint64_t mark = spile_rt_frame_mark(context);
  char* text = static_cast<char*>(spile_rt_frame(context, spile_rt_string_size));
  int64_t length =
      text ? spile_rt_load_string(context, static_cast<uint64_t>(address), text, spile_rt_string_size) : -1;
  if (length < 0) {
    constexpr uint32_t kHex = 4, kPrefixed = 16;  // ORDER FORMAT_KIND, FORMAT_FLAGS
    spile_rt_format_end(out, spile_rt_format_long(out, 0, address, kHex, kPrefixed, -1, -1));
  } else {
    TextBuffer buffer = {out, 0};
    buffer.put("\"", 1);
    buffer.put_escaped(text, static_cast<uint32_t>(length), 1);
    buffer.put("\"", 1);
    buffer.end();
  }
  spile_rt_frame_release(context, mark);
}

}  // extern "C"

}  // namespace spile::rt
