// sprintf inside handlers, part by part, and the texts of errors that `catch` gets. The conversions: runtime/format.h. Helpers
// move the bytes and make the digits; where a text ends is forgotten after each part, so that the verifier follows what comes
// next once.

#include "runtime/format.h"

#include "runtime/kernel_maps/kernel_maps.h"

namespace spile::rt {

namespace {

[[gnu::section(".rodata.formats"), gnu::used]] const char kDecimalDigits[] = "%llu";
[[gnu::section(".rodata.formats"), gnu::used]] const char kHexDigits[] = "%llx";
[[gnu::section(".rodata.formats"), gnu::used]] const char kUpperDigits[] = "%llX";

constexpr uint64_t kFillBytes = abi::kMaxKernelString;
struct FillBytes {
  char bytes[kFillBytes];
  constexpr explicit FillBytes(char byte) : bytes() {
    for (char& each : bytes) each = byte;
  }
};
[[gnu::section(".rodata.fill"), gnu::used]] const FillBytes kFillSpaces(' ');
[[gnu::section(".rodata.fill"), gnu::used]] const FillBytes kFillZeros('0');

// Cuts off what passes the string's size; the last byte stays free for the NUL.
struct StringSink {
  char* out;
  uint64_t at;

  // A part of no bytes is left out where the lowering knows that.
  SPILE_INLINE void put(const char* text, uint64_t length) {
    if (__builtin_constant_p(length) && length == 0) return;
    const uint64_t most = spile_rt_string_size - 1;
    const uint64_t begin = forget(at);
    if (begin > most) return;
    uint64_t count = length;
    if (count > most - begin) count = most - begin;
    count = forget(count);
    if (count > most) return;
    read_kernel(out + begin, static_cast<uint32_t>(count), text);
    at = begin + count;
  }
  SPILE_INLINE void fill(char byte, uint64_t count) { put(byte == ' ' ? kFillSpaces.bytes : kFillZeros.bytes, count); }

  SPILE_INLINE uint64_t digits(char (&out)[24], uint64_t value, uint32_t conversion) {
    if (value == 0) return 0;
    if (conversion == kFormatOctal) return octal_digits(out, value);
    for (int i = 0; i < 24; i += 8) *reinterpret_cast<volatile uint64_t*>(out + i) = 0;
    const bool hex = conversion == kFormatHex || conversion == kFormatPointer;
    const char* format = hex ? kHexDigits : conversion == kFormatHexUpper ? kUpperDigits : kDecimalDigits;
    const long size =
        helper<long (*)(char*, uint32_t, const char*, const uint64_t*, uint32_t)>(BPF_FUNC_snprintf)(out, 24, format, &value, 8);
    return size > 1 ? static_cast<uint64_t>(size) - 1 : 0;
  }

 private:
  // The kernel's conversions have no %o.
  SPILE_INLINE static uint64_t octal_digits(char (&out)[24], uint64_t value) {
    uint64_t count = 0;
#pragma clang loop unroll(full)
    for (int i = 21; i >= 0; --i) {
      const uint64_t left = value >> (3 * i);
      if (left == 0) continue;
      count = opaque(count) & 31;
      if (count < 24) out[count] = static_cast<char>('0' + (left & 7));
      ++count;
    }
    return count;
  }
};

}  // namespace

extern "C" {

SPILE_INLINE uint32_t spile_rt_format_literal(char* out, uint32_t at, const char* text, uint32_t length) {
  StringSink sink = {out, at};
  sink.put(text, length);
  return static_cast<uint32_t>(sink.at);
}

SPILE_INLINE uint32_t spile_rt_format_long(char* out, uint32_t at, int64_t value, uint32_t conversion, uint32_t flags,
                                           int32_t width, int32_t precision) {
  StringSink sink = {out, at};
  format_long(sink, value, conversion, {flags, width, precision});
  return static_cast<uint32_t>(sink.at);
}

SPILE_INLINE uint32_t spile_rt_format_string(char* out, uint32_t at, const char* text, uint32_t flags, int32_t width,
                                             int32_t precision) {
  StringSink sink = {out, at};
  format_text(sink, text, spile_rt_string_length(text), {flags, width, precision});
  return static_cast<uint32_t>(sink.at);
}

SPILE_INLINE void spile_rt_format_end(char* out, uint32_t at) {
  const uint64_t end = forget(at);
  if (end < spile_rt_string_size) out[end] = 0;
}

}  // extern "C"

}  // namespace spile::rt
