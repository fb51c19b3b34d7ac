// The library's functions that read the traced program's memory. `fault` is set where it can't be read.

#include "abi/script_codes.h"
#include "runtime/core/core.h"
#include "runtime/core/script_functions.h"

namespace spile::rt {

namespace {

SPILE_INLINE inline int64_t load_or_fault(Context* context, int64_t address, uint32_t size, bool is_signed, bool* fault) {
  int64_t value = 0;
  if (unlikely(!spile_rt_load(context, static_cast<uint64_t>(address), size, is_signed, &value))) *fault = true;
  return value;
}

// A limit from a script, as load_string takes it.
SPILE_INLINE inline uint32_t limit_of(int64_t count) {
  if (count < 0) return 0;
  return count < spile_rt_string_size ? static_cast<uint32_t>(count) : spile_rt_string_size;
}

template <uint32_t kSize>
SPILE_INLINE inline bool store(Context* context, uint64_t address, uint64_t value) {
  if (spile_rt_in_controller || controller_gone(context->arena)) return false;
  return store_word<kSize>(address, value);
}

void put_address(char* out, int64_t address) {
  spile_rt_format_end(out, spile_rt_format_long(out, 0, address, abi::kFormatHex, abi::kFormatAlternate, -1, -1));
}

// Reads byte by byte, so that a string's end may be the end of what is mapped.
void put_buffer(Context* context, int64_t address, int64_t count, int64_t room, bool stop_at_nul, char* out, bool* fault) {
  uint32_t limit = room <= 0 || room >= spile_rt_string_size ? spile_rt_string_size : static_cast<uint32_t>(room) + 1;
  QuotedText quoted(out, limit);
  for (int64_t i = 0; i < count; ++i) {
    int64_t byte = 0;
    if (!spile_rt_load(context, static_cast<uint64_t>(address + i), 1, false, &byte)) {
      *fault = true;
      *out = 0;
      return;
    }
    if (stop_at_nul && byte == 0) break;
    if (!quoted.put(static_cast<uint8_t>(byte))) return;
  }
  quoted.end();
}

// UTF-8 of one code point; the number of bytes.
uint32_t encode_utf8(char* out, uint32_t code) {
  if (code < 0x80) {
    out[0] = static_cast<char>(code);
    return 1;
  }
  uint32_t count = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (uint32_t i = count - 1; i > 0; --i, code >>= 6) {
    out[i] = static_cast<char>(0x80 | (code & 0x3f));
    compiler_barrier();
  }
  out[0] = static_cast<char>((0xf00u >> count & 0xff) | code);
  return count;
}

// A string of 2- or 4-byte units as UTF-8. What is no text is a fault, as what can't be read is.
void load_wide_string(Context* context, int64_t address, uint32_t unit, char* out, bool* fault) {
  TextBuffer buffer = {out, 0};
  *out = 0;
  for (;; address += unit) {
    int64_t code = 0;
    *fault = !spile_rt_load(context, static_cast<uint64_t>(address), unit, false, &code);
    if (*fault || code == 0) break;
    if (unit == 2 && code >= 0xd800 && code < 0xdc00) {
      int64_t low = 0;
      address += unit;
      *fault = !spile_rt_load(context, static_cast<uint64_t>(address), unit, false, &low) || low < 0xdc00 || low > 0xdfff;
      if (*fault) break;
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if ((code >= 0xd800 && code < 0xe000) || code > 0x10ffff) {
      *fault = true;
      break;
    }
    char bytes[4];
    uint32_t count = encode_utf8(bytes, static_cast<uint32_t>(code));
    if (count > buffer.room()) break;
    buffer.put(bytes, count);
  }
  buffer.end();
}

}  // namespace

extern "C" {

// user_TYPE gives 0 for what can't be read, user_TYPE_error is a script error then.
#define SPILE_USER_NUMBER(NAME, SIZE, SIGNED)                                                         \
  SPILE_INLINE int64_t spile_fn_user_##NAME(Context* context, int64_t address) {                      \
    bool ignored = false;                                                                             \
    return load_or_fault(context, address, SIZE, SIGNED, &ignored);                                   \
  }                                                                                                   \
  SPILE_INLINE int64_t spile_fn_user_##NAME##_error(Context* context, int64_t address, bool* fault) { \
    return load_or_fault(context, address, SIZE, SIGNED, fault);                                      \
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

// Kernel memory: handlers in the kernel can read it, and those in spile itself.
#define SPILE_KERNEL_NUMBER(NAME, SIZE, SIGNED)                                                 \
  SPILE_INLINE int64_t spile_fn_kernel_##NAME(Context* context, int64_t address, bool* fault) { \
    *fault = !may_read_kernel(address);                                                         \
    return *fault ? 0 : load_or_fault(context, address, SIZE, SIGNED, fault);                   \
  }
SPILE_KERNEL_NUMBER(char, 1, true)
SPILE_KERNEL_NUMBER(short, 2, true)
SPILE_KERNEL_NUMBER(int, 4, true)
SPILE_KERNEL_NUMBER(long, 8, true)
SPILE_KERNEL_NUMBER(pointer, 8, false)
#undef SPILE_KERNEL_NUMBER
// limit: bytes at most; spile_rt_string_size: as many as a string has. False: it can't be read.
SPILE_INLINE inline bool load_kernel_string(Context* context, int64_t address, char* out, uint32_t limit) {
  *out = 0;
  return may_read_kernel(address) && spile_rt_load_string(context, static_cast<uint64_t>(address), out, limit) >= 0;
}
SPILE_INLINE void spile_fn_kernel_string(Context* context, int64_t address, char* out, bool* fault) {
  *fault = !load_kernel_string(context, address, out, spile_rt_string_size);
}
SPILE_INLINE void spile_fn_kernel_string2(Context* context, int64_t address, const char* otherwise, char* out) {
  if (!load_kernel_string(context, address, out, spile_rt_string_size)) spile_rt_string_copy(out, otherwise);
}
SPILE_INLINE void spile_fn_kernel_string_n(Context* context, int64_t address, int64_t count, char* out, bool* fault) {
  *fault = !load_kernel_string(context, address, out, limit_of(count));
}

// As spile_fn_user_buffer_quoted_error().
[[gnu::noinline]] void spile_fn_kernel_buffer_quoted_error(Context* context, int64_t address, int64_t count, int64_t room,
                                                           char* out, bool* fault) {
  *out = 0;
  *fault = !may_read_kernel(address);
  if (!*fault) put_buffer(context, address, count, room, false, out, fault);
}

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
SPILE_INLINE void spile_fn_user_string_n2(Context* context, int64_t address, int64_t count, const char* otherwise, char* out) {
  if (spile_rt_load_string(context, static_cast<uint64_t>(address), out, limit_of(count)) < 0) {
    spile_rt_string_copy(out, otherwise);
  }
}

// "text" with escapes; NULL; or the address where nothing can be read.
[[gnu::noinline]] void spile_fn_user_string_quoted(Context* context, int64_t address, char* out) {
  if (address == 0) return spile_rt_string_copy(out, "NULL");
  uint64_t mark = spile_rt_frame_mark(context);
  char* text = static_cast<char*>(spile_rt_frame(context, spile_rt_string_size));
  int64_t length = text ? spile_rt_load_string(context, static_cast<uint64_t>(address), text, spile_rt_string_size) : -1;
  if (length < 0) {
    put_address(out, address);
  } else {
    // As long as what was read: there may be more.
    put_quoted(out, spile_rt_string_size, text, static_cast<uint32_t>(length), length == spile_rt_string_size - 1);
  }
  spile_rt_frame_release(context, mark);
}

// `count` bytes, whatever they are, in at most `room` characters (0: as many as a string has).
[[gnu::noinline]] void spile_fn_user_buffer_quoted(Context* context, int64_t address, int64_t count, int64_t room, char* out) {
  if (address == 0) return spile_rt_string_copy(out, "NULL");
  bool fault = false;
  put_buffer(context, address, count, room, false, out, &fault);
  if (fault) put_address(out, address);
}
[[gnu::noinline]] void spile_fn_user_buffer_quoted_error(Context* context, int64_t address, int64_t count, int64_t room,
                                                         char* out, bool* fault) {
  put_buffer(context, address, count, room, false, out, fault);
}
// The same up to a NUL.
[[gnu::noinline]] void spile_fn_user_string_n_quoted(Context* context, int64_t address, int64_t count, int64_t room, char* out) {
  if (address == 0) return spile_rt_string_copy(out, "NULL");
  bool fault = false;
  put_buffer(context, address, count, room, true, out, &fault);
  if (fault) put_address(out, address);
}

[[gnu::noinline]] void spile_fn___pretty_string(Context* context, int64_t address, int64_t count, char* out) {
  bool fault = false;
  if (address != 0) put_buffer(context, address, count > 0 ? count : spile_rt_string_size, 0, true, out, &fault);
  if (address == 0) spile_rt_string_copy(out, "0x0");
  if (fault) put_address(out, address);
}
// Of bytes that have no address: those of two words, up to a NUL.
[[gnu::noinline]] void spile_fn___pretty_letters(Context*, int64_t first, int64_t second, int64_t count, char* out) {
  char text[16];
  uint32_t length = 0;
  for (; length < sizeof text && length < static_cast<uint64_t>(count); ++length) {
    const auto word = static_cast<uint64_t>(length < 8 ? first : second);
    text[length] = static_cast<char>(word >> (8 * (length & 7)));
    if (text[length] == 0) break;
  }
  put_quoted(out, spile_rt_string_size, text, length, false);
}
// 'W': as char's are shown, or in UTF-8.
[[gnu::noinline]] void spile_fn___pretty_letter(Context*, int64_t letter, char* out) {
  auto code = static_cast<uint32_t>(letter);
  char text[4];
  uint32_t length = code < 0x80 ? escape_byte(text, static_cast<uint8_t>(code)) : encode_utf8(text, code);
  uint32_t at = spile_rt_format_literal(out, 0, "'", 1);
  at = spile_rt_format_literal(out, at, text, length);
  spile_rt_format_end(out, spile_rt_format_literal(out, at, "'", 1));
}

[[gnu::noinline]] void spile_fn_user_string_utf16(Context* context, int64_t address, char* out, bool* fault) {
  load_wide_string(context, address, 2, out, fault);
}
[[gnu::noinline]] void spile_fn_user_string_utf32(Context* context, int64_t address, char* out, bool* fault) {
  load_wide_string(context, address, 4, out, fault);
}
// A load of an address in the kernel reads the kernel's memory, where handlers can.
[[gnu::noinline]] void spile_fn_kernel_string_utf16(Context* context, int64_t address, char* out, bool* fault) {
  *out = 0;
  *fault = !may_read_kernel(address);
  if (!*fault) load_wide_string(context, address, 2, out, fault);
}
[[gnu::noinline]] void spile_fn_kernel_string_utf32(Context* context, int64_t address, char* out, bool* fault) {
  *out = 0;
  *fault = !may_read_kernel(address);
  if (!*fault) load_wide_string(context, address, 4, out, fault);
}

#define SPILE_SET_NUMBER(NAME, SIZE)                                                                               \
  [[gnu::noinline]] void spile_fn_set_user_##NAME(Context* context, int64_t address, int64_t value, bool* fault) { \
    *fault = !store<SIZE>(context, static_cast<uint64_t>(address), static_cast<uint64_t>(value));                  \
  }
SPILE_SET_NUMBER(char, 1)
SPILE_SET_NUMBER(short, 2)
SPILE_SET_NUMBER(int, 4)
SPILE_SET_NUMBER(long, 8)
SPILE_SET_NUMBER(pointer, 8)
#undef SPILE_SET_NUMBER

// At most `count` bytes, the NUL among them.
[[gnu::noinline]] void spile_fn_set_user_string_n(Context* context, int64_t address, int64_t count, const char* text,
                                                  bool* fault) {
  int64_t length = spile_rt_string_length(text) + 1;
  for (int64_t i = 0; i < length && i < count; ++i) {
    if (!store<1>(context, static_cast<uint64_t>(address + i), static_cast<uint8_t>(text[i]))) {
      *fault = true;
      return;
    }
  }
}
[[gnu::noinline]] void spile_fn_set_user_string(Context* context, int64_t address, const char* text, bool* fault) {
  spile_fn_set_user_string_n(context, address, spile_rt_string_size, text, fault);
}

}  // extern "C"

}  // namespace spile::rt
