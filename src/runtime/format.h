#pragma once
// The conversions of printf, as C defines them (and SystemTap's %b %p %m %M), one place for both of their users:
// sprintf inside handlers, and the controller, which turns records into text. Freestanding; no locale, no allocation.
//
// A Sink takes the output:   void put(const char* text, uint64_t length);  void fill(char byte, uint64_t count);
// Both may be called with 0, and may drop what does not fit. Texts need no NUL at their end. A Sink that makes digits in a way of
// its own has
//   uint64_t digits(char (&out)[24], uint64_t value, uint32_t conversion);   as write_digits(), but from out[0] on, which is
//                                                                            aligned to 8; returns how many

#include <stdint.h>

#include "abi/script_codes.h"

namespace spile::rt {

using enum abi::FormatFlags;
using enum abi::FormatConversion;

struct FormatField {
  uint32_t flags;     // abi::FormatFlags
  int32_t width;      // columns, at least; -1: not given; below -1, from an argument (`*`): the flag `-` and its absolute value
  int32_t precision;  // below 0: not given

  // Returns the least number of columns; 0: width is not given.
  uint64_t columns() const {
    if (width == -1) return 0;
    return width < 0 ? -static_cast<uint64_t>(static_cast<int64_t>(width)) : static_cast<uint64_t>(width);
  }
  bool left() const { return (flags & kFormatLeft) || width < -1; }
};

// Writes the text as it is, padded with spaces to the field's width. Ignores the precision.
template <typename Sink>
void put_padded(Sink& sink, const char* text, uint64_t length, const FormatField& field) {
  uint64_t columns = field.columns();
  uint64_t padding = columns > length ? columns - length : 0;
  if (!field.left()) sink.fill(' ', padding);
  sink.put(text, length);
  if (field.left()) sink.fill(' ', padding);
}

// Writes %s, %m: at most `precision` bytes of the text.
template <typename Sink>
void format_text(Sink& sink, const char* text, uint64_t length, const FormatField& field) {
  if (field.precision >= 0 && static_cast<uint64_t>(field.precision) < length) length = static_cast<uint64_t>(field.precision);
  put_padded(sink, text, length, field);
}

// Writes %M: two digits for each of `length` bytes. Ignores the precision.
template <typename Sink>
void format_memory_hex(Sink& sink, const char* bytes, uint64_t length, const FormatField& field) {
  uint64_t columns = field.columns();
  uint64_t padding = columns > 2 * length ? columns - 2 * length : 0;
  if (!field.left()) sink.fill(' ', padding);
  for (uint64_t i = 0; i < length; ++i) {
    uint8_t byte = static_cast<uint8_t>(bytes[i]);
    char digits[2];
    for (int n = 0; n < 2; ++n) {
      uint8_t digit = n ? byte & 15 : byte >> 4;
      digits[n] = static_cast<char>(digit < 10 ? '0' + digit : 'a' + digit - 10);
    }
    sink.put(digits, 2);
  }
  if (field.left()) sink.fill(' ', padding);
}

// Writes the digits of `value`, none for 0, into the up to 22 bytes before `end`. Returns where they begin. conversion:
// abi::FormatConversion; decimal unless it is octal, hexadecimal or a pointer.
inline char* write_digits(char* end, uint64_t value, uint32_t conversion) {
  switch (conversion) {
    case kFormatOctal:
      for (; value; value >>= 3) *--end = static_cast<char>('0' + (value & 7));
      return end;
    case kFormatHex:
    case kFormatHexUpper:
    case kFormatPointer:
      for (; value; value >>= 4) {
        uint32_t digit = value & 15;
        uint32_t letter = conversion == kFormatHexUpper ? 'A' : 'a';
        *--end = static_cast<char>(digit < 10 ? '0' + digit : letter + digit - 10);
      }
      return end;
    default:
      for (; value; value /= 10) *--end = static_cast<char>('0' + value % 10);
      return end;
  }
}

// Writes %d %u %o %x %X %p. A pointer without width and precision has 0x and 16 digits.
template <typename Sink>
void format_number(Sink& sink, int64_t value, uint32_t conversion, FormatField field) {
  uint64_t magnitude = static_cast<uint64_t>(value);
  char prefix[2];
  uint64_t prefix_length = 0;
  if (conversion == kFormatSigned) {
    if (value < 0) magnitude = -magnitude;
    if (value < 0) prefix[prefix_length++] = '-';
    else if (field.flags & kFormatPlus) prefix[prefix_length++] = '+';
    else if (field.flags & kFormatSpace) prefix[prefix_length++] = ' ';
  }
  if (conversion == kFormatPointer && field.width == -1 && field.precision < 0) {
    field.width = 18;
    field.flags |= kFormatZero;
  }
  bool hex = conversion == kFormatHex || conversion == kFormatHexUpper;
  if (conversion == kFormatPointer || (hex && (field.flags & kFormatAlternate))) {
    prefix[prefix_length++] = '0';
    prefix[prefix_length++] = conversion == kFormatHexUpper ? 'X' : 'x';
  }
  alignas(8) char digits[24];
  const char* begin = digits;
  uint64_t length = 0;
  if constexpr (requires { sink.digits(digits, magnitude, conversion); }) {
    length = sink.digits(digits, magnitude, conversion);
  } else {
    begin = write_digits(digits + sizeof(digits), magnitude, conversion);
    length = static_cast<uint64_t>(digits + sizeof(digits) - begin);
  }
  // The least number of digits is 1, or the precision; for %#o one more than there are, so that the first is 0.
  uint64_t least = field.precision >= 0 ? static_cast<uint64_t>(field.precision) : 1;
  if (conversion == kFormatOctal && (field.flags & kFormatAlternate) && least <= length) least = length + 1;
  uint64_t zeros = least > length ? least - length : 0;
  uint64_t columns = field.columns();
  uint64_t total = prefix_length + zeros + length;
  uint64_t padding = columns > total ? columns - total : 0;
  bool pad_with_zeros = (field.flags & kFormatZero) && !field.left() && field.precision < 0;
  if (pad_with_zeros) {
    zeros += padding;
    padding = 0;
  }
  if (!field.left()) sink.fill(' ', padding);
  sink.put(prefix, prefix_length);
  sink.fill('0', zeros);
  sink.put(begin, length);
  if (field.left()) sink.fill(' ', padding);
}

// For %#c: replaces text[0], if it is not a printable character, by the escape sequence that C has for it. Returns the length in
// bytes.
inline uint64_t escape_character(char (&text)[4]) {
  uint8_t byte = static_cast<uint8_t>(text[0]);
  if (byte >= ' ' && byte < 0x7f && byte != '\\' && byte != '\'') return 1;
  text[0] = '\\';
  text[1] = static_cast<char>(byte);
  // a b t n v f r, of 7 to 13: a number, as kernels before Linux 6.12 follow no table here
  constexpr uint64_t kLetters = 0x7266766e746261;
  if (byte >= 7 && byte <= 13) text[1] = static_cast<char>(kLetters >> (8 * (byte - 7)) & 0xff);
  else if (byte != '\\' && byte != '\'') {
    for (int i = 0; i < 3; ++i) text[1 + i] = static_cast<char>('0' + (byte >> (6 - 3 * i) & 7));
    return 4;
  }
  return 2;
}

// Writes a script's number by any conversion but kFormatLiteral, kFormatMemory and kFormatMemoryHex. %s writes its decimal
// digits.
template <typename Sink>
void format_long(Sink& sink, int64_t value, uint32_t conversion, const FormatField& field) {
  if (conversion == kFormatChar) {
    char text[4] = {static_cast<char>(value)};
    uint64_t length = field.flags & kFormatAlternate ? escape_character(text) : 1;
    return put_padded(sink, text, length, field);
  }
  if (conversion == kFormatBinary) {
    // %1b %2b %4b %8b: so many bytes of the value as they lie in memory; %4.2b: two of them, padded with NULs.
    char bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
    const uint64_t columns = field.columns(), wanted = field.precision < 0 ? columns : static_cast<uint64_t>(field.precision);
    const uint64_t count = wanted == 1 || wanted == 2 || wanted == 4 ? wanted : 8;
    const uint64_t padding = field.precision >= 0 && columns > count ? columns - count : 0;
    if (!field.left()) sink.fill('\0', padding);
    sink.put(bytes, count);
    if (field.left()) sink.fill('\0', padding);
    return;
  }
  format_number(sink, value, conversion == kFormatString ? static_cast<uint32_t>(kFormatSigned) : conversion, field);
}

}  // namespace spile::rt
