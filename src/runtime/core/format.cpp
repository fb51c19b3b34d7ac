// sprintf inside handlers, part by part, into a string's buffer. The conversions: runtime/format.h.

#include "runtime/format.h"

#include "runtime/core/core.h"

namespace spile::rt {

namespace {

// Cuts off what passes the string's size; the last byte stays free for the NUL.
struct StringSink {
  char* out;
  uint32_t at;

  uint64_t room(uint64_t wanted) const {
    uint64_t left = at < spile_rt_string_size - 1 ? spile_rt_string_size - 1 - at : 0;
    return wanted < left ? wanted : left;
  }
  void put(const char* text, uint64_t length) {
    length = room(length);
    copy_bytes(out + at, text, length);
    at += static_cast<uint32_t>(length);
  }
  void fill(char byte, uint64_t count) {
    for (count = room(count); count; --count) {
      out[at++] = byte;
      compiler_barrier();
    }
  }
};

}  // namespace

extern "C" {

[[gnu::noinline]] uint32_t spile_rt_format_literal(char* out, uint32_t at, const char* text, uint32_t length) {
  StringSink sink = {out, at};
  sink.put(text, length);
  return sink.at;
}

[[gnu::noinline]] uint32_t spile_rt_format_long(char* out, uint32_t at, int64_t value, uint32_t conversion, uint32_t flags,
                                                int32_t width, int32_t precision) {
  StringSink sink = {out, at};
  format_long(sink, value, conversion, {flags, width, precision});
  return sink.at;
}

[[gnu::noinline]] uint32_t spile_rt_format_string(char* out, uint32_t at, const char* text, uint32_t flags, int32_t width,
                                                  int32_t precision) {
  StringSink sink = {out, at};
  format_text(sink, text, spile_rt_string_length(text), {flags, width, precision});
  return sink.at;
}

[[gnu::noinline]] uint32_t spile_rt_format_memory(char* out, uint32_t at, const char* bytes, uint32_t length, bool hex,
                                                  uint32_t flags, int32_t width) {
  StringSink sink = {out, at};
  if (hex) format_memory_hex(sink, bytes, length, {flags, width, -1});
  else format_text(sink, bytes, length, {flags, width, -1});
  return sink.at;
}

SPILE_INLINE void spile_rt_format_end(char* out, uint32_t at) { out[at] = 0; }

}  // extern "C"

}  // namespace spile::rt
