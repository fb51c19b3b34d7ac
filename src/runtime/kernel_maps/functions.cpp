// Functions of the language's library (sema/terms/intrinsics.h) that handlers in the kernel can call. What is not here would
// take loops that the verifier has to walk through; the lowering refuses it by name.

#include "abi/script_codes.h"
#include "runtime/escape.h"
#include "runtime/kernel_maps/kernel_maps.h"
#include "runtime/names.h"

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

// How quoted texts show each byte: as core/script_functions.h's QuotedText does. Looked up, as each way of its own would be one
// more for the verifier.
struct QuotedByte {
  char text[4];
  uint32_t count;
};
struct QuotedBytes {
  QuotedByte of[256];
  constexpr QuotedBytes() : of() {
    for (uint32_t byte = 0; byte < 256; ++byte) of[byte].count = write_escaped(of[byte].text, static_cast<uint8_t>(byte));
  }
};
[[gnu::section(".rodata.quoted"), gnu::used]] const QuotedBytes kQuoted;

// Quotes a text of `length` bytes in at most `limit` with the NUL. is_cut, or where it does not fit: "..." follows. Where it ends
// is forgotten after each byte.
SPILE_INLINE inline void put_quoted(char* out, const char* text, uint64_t length, uint64_t limit, bool is_cut) {
  constexpr uint32_t kRest = 5;  // "..." and NUL, after the quote
  const uint64_t size = spile_rt_string_size;
  const uint64_t count_of_bytes = forget(length), room = forget(limit);
  uint64_t at = 1, fits = 1, cut = 1;
  out[0] = '"';
#pragma clang loop unroll(disable)
  for (uint32_t i = 0; i < spile_rt_string_size; ++i) {
    if (i >= count_of_bytes) {
      cut = is_cut;
      break;
    }
    const QuotedByte* quoted = &kQuoted.of[static_cast<uint8_t>(text[i])];
    const uint64_t count = opaque(static_cast<uint64_t>(quoted->count));
    const uint64_t begin = forget(at), next = begin + count;
    if (next + 2 > room) break;
    const uint64_t place = opaque(begin);
    if (place >= size || count > sizeof quoted->text) break;  // never: for the verifier
    read_kernel(out + place, static_cast<uint32_t>(count), quoted->text);
    at = forget(next);
    if (next + kRest <= room) fits = at;
    fits = forget(fits);
  }
  const uint64_t end = forget(cut ? fits : at), rest = forget(cut ? kRest : 2);
  if (end >= size || rest > kRest) return;
  read_kernel(out + end, static_cast<uint32_t>(rest), rest == 2 ? "\"\0\0\0\0" : "\"...");
}

SPILE_INLINE inline void put_address(char* out, int64_t address) {
  spile_rt_format_end(out, spile_rt_format_long(out, 0, address, abi::kFormatHex, abi::kFormatAlternate, -1, -1));
}

// `count` bytes, whatever they are, in at most `room` characters (0: as many as a string has). False: they can't be read.
template <typename Read>
SPILE_INLINE inline bool put_bytes_quoted(Context* context, int64_t address, int64_t count, int64_t room, char* out, Read read) {
  constexpr uint64_t kLeast = 8;
  const uint64_t mark = spile_rt_frame_mark(context);
  auto* bytes = static_cast<char*>(spile_rt_frame(context, spile_rt_string_size));
  uint64_t limit = room <= 0 || room >= spile_rt_string_size ? spile_rt_string_size : static_cast<uint64_t>(room) + 1;
  if (limit < kLeast) limit = kLeast;
  const uint64_t length = forget(count <= 0 ? 0 : static_cast<uint64_t>(count) < limit ? static_cast<uint64_t>(count) : limit);
  const bool whole = bytes && length <= spile_rt_string_size &&
                     read(bytes, static_cast<uint32_t>(length), reinterpret_cast<const void*>(address)) == 0;
  if (whole) put_quoted(out, bytes, length, limit, false);
  spile_rt_frame_release(context, mark);
  return whole;
}
extern "C" {

// A read that fails shows the address.
SPILE_INLINE void spile_fn_user_string_quoted(Context* context, int64_t address, char* out) {
  if (address == 0) return spile_rt_string_copy(out, "NULL");
  const uint64_t mark = spile_rt_frame_mark(context);
  auto* text = static_cast<char*>(spile_rt_frame(context, spile_rt_string_size));
  const int64_t length = text ? spile_rt_load_string(context, static_cast<uint64_t>(address), text, spile_rt_string_size) : -1;
  if (length >= 0) put_quoted(out, text, static_cast<uint64_t>(length), spile_rt_string_size, length == spile_rt_string_size - 1);
  else put_address(out, address);
  spile_rt_frame_release(context, mark);
}
SPILE_INLINE void spile_fn_user_buffer_quoted(Context* context, int64_t address, int64_t count, int64_t room, char* out) {
  if (address == 0) return spile_rt_string_copy(out, "NULL");
  const auto read = [](void* to, uint32_t size, const void* from)
                        __attribute__((always_inline)) { return read_user(to, size, from); };
  if (!put_bytes_quoted(context, address, count, room, out, read)) put_address(out, address);
}
SPILE_INLINE void spile_fn_kernel_buffer_quoted_error(Context* context, int64_t address, int64_t count, int64_t room, char* out,
                                                      bool* fault) {
  *out = 0;
  const auto read = [](void* to, uint32_t size, const void* from)
                        __attribute__((always_inline)) { return read_kernel(to, size, from); };
  *fault = !put_bytes_quoted(context, address, count, room, out, read);
}

// Writes SIGINT for 2, SIGRTMIN+3 for 35, and "" for numbers that no signal has.
SPILE_INLINE void spile_fn___signal_name(Context*, int64_t number, char* out) {
  const uint64_t signal = opaque(static_cast<uint64_t>(number));
  uint32_t at = 0;
  if (signal >= 1 && signal < sizeof kSignals / sizeof kSignals[0]) {
    static_assert(sizeof kSignals / sizeof kSignals[0] == 32);
    char name[sizeof kSignals[0]] = {};
    read_kernel(name, sizeof name, kSignals[opaque(signal) & 31]);
    at = spile_rt_format_string(out, spile_rt_format_literal(out, 0, "SIG", 3), name, 0, -1, -1);
  } else if (signal >= 32 && signal <= 64) {
    at = spile_rt_format_literal(out, 0, "SIGRTMIN+", signal == 32 ? 8 : 9);
    if (signal > 32) at = spile_rt_format_long(out, at, number - 32, abi::kFormatSigned, 0, -1, -1);
  }
  spile_rt_format_end(out, at);
}

// Writes ENOENT for 2, and E#3333 for 3333, which no error has.
SPILE_INLINE void spile_fn_errno_str(Context*, int64_t number, char* out) {
  const uint64_t error = opaque(static_cast<uint64_t>(number < 0 ? -number : number));  // calls return negative ones
  if (error < sizeof kErrors / sizeof kErrors[0] && kErrors[error][0]) {
    read_kernel_string(out, sizeof kErrors[0], kErrors[error]);
    return;
  }
  const uint32_t at = spile_rt_format_literal(out, 0, "E#", 2);
  spile_rt_format_end(out, spile_rt_format_long(out, at, number, abi::kFormatSigned, 0, -1, -1));
}

SPILE_INLINE int64_t spile_fn_randint(Context*, int64_t below) {
  uint64_t random = helper<uint32_t (*)()>(BPF_FUNC_get_prandom_u32)();
  return below > 0 ? static_cast<int64_t>(random % static_cast<uint64_t>(below)) : 0;
}

SPILE_INLINE int64_t spile_fn_execution_flow(Context* context) {
  if (const int64_t interrupt = interrupt_flow()) return interrupt;
  const int64_t thread = spile_rt_tid(context);
  return thread != 0 ? thread : idle_flow();
}

SPILE_INLINE int64_t spile_fn___task_current(Context*) { return helper<int64_t (*)()>(BPF_FUNC_get_current_task)(); }

SPILE_INLINE int64_t spile_fn_ktime_get_ns(Context*) { return static_cast<int64_t>(monotonic_ns()); }
// As in processes, one clock stands for those of all processors.
#define SPILE_CLOCK_FUNCTION(UNIT, NS)                                                   \
  SPILE_INLINE int64_t spile_fn_local_clock_##UNIT(Context* context) {                   \
    return static_cast<int64_t>(static_cast<uint64_t>(spile_rt_clock_ns(context)) / NS); \
  }                                                                                      \
  SPILE_INLINE int64_t spile_fn_cpu_clock_##UNIT(Context* context, int64_t) { return spile_fn_local_clock_##UNIT(context); }
SPILE_CLOCK_FUNCTION(ns, 1)
SPILE_CLOCK_FUNCTION(us, 1'000)
SPILE_CLOCK_FUNCTION(ms, 1'000'000)
SPILE_CLOCK_FUNCTION(s, 1'000'000'000)
#undef SPILE_CLOCK_FUNCTION

SPILE_INLINE int64_t spile_fn_strlen(Context*, const char* text) { return spile_rt_string_length(text); }

SPILE_INLINE int64_t spile_fn_stringat(Context*, const char* text, int64_t position, bool* fault) {
  uint32_t length = spile_rt_string_length(text);
  uint64_t at = opaque(static_cast<uint64_t>(position));
  *fault = at >= length || at >= spile_rt_string_size;
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
SPILE_INLINE void spile_fn_user_string_n2(Context* context, int64_t address, int64_t length, const char* otherwise, char* out) {
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
