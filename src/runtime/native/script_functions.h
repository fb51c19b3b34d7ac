#pragma once
// What the library's functions share: a string in the making.

#include "runtime/native/native.h"

namespace spile::rt {

uint32_t escape_byte(char* out, uint8_t byte);  // at most 4 characters

namespace {  // internal to each user: no section of its own in the bitcode's object

// Appends to a string's buffer of spile_rt_string_size bytes, cutting off what does not fit.
struct TextBuffer {
  char* out;
  uint32_t at;

  uint32_t room() const { return spile_rt_string_size - 1 - at; }
  void put(const char* text, uint32_t length) {
    if (length > room()) length = room();
    copy_bytes(out + at, text, length);
    at += length;
  }
  // Whole escapes only, and `spared` bytes left over.
  void put_escaped(const char* text, uint32_t length, uint32_t spared = 0) {
    for (uint32_t i = 0; i < length; ++i) {
      char escaped[4];
      uint32_t count = escape_byte(escaped, static_cast<uint8_t>(text[i]));
      if (count + spared > room()) return;
      put(escaped, count);
    }
  }
  void end() { out[at] = 0; }
};

}  // namespace

}  // namespace spile::rt
