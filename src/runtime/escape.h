#pragma once
// Bytes as quoted texts show them, in C's escape sequences, for handlers wherever they run.

#include <stdint.h>

namespace spile::rt {

// Writes the byte itself if it is printable, else \n and its kind or three octal digits. out: at least 4 bytes; returns how many
// it has written.
constexpr uint32_t write_escaped(char* out, uint8_t byte) {
  char letter = 0;
  if (byte == '\n') letter = 'n';
  if (byte == '\t') letter = 't';
  if (byte == '\r') letter = 'r';
  if (byte == '\a') letter = 'a';
  if (byte == '\b') letter = 'b';
  if (byte == '\f') letter = 'f';
  if (byte == '\v') letter = 'v';
  if (byte == '"' || byte == '\\') letter = static_cast<char>(byte);
  if (!letter && byte >= 0x20 && byte < 0x7f) {
    out[0] = static_cast<char>(byte);
    return 1;
  }
  out[0] = '\\';
  if (letter) {
    out[1] = letter;
    return 2;
  }
  out[1] = static_cast<char>('0' + (byte >> 6));
  out[2] = static_cast<char>('0' + (byte >> 3 & 7));
  out[3] = static_cast<char>('0' + (byte & 7));
  return 4;
}

}  // namespace spile::rt
