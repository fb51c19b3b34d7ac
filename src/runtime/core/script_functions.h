#pragma once
// What the library's functions share: a string in the making.

#include "runtime/core/core.h"

namespace spile::rt {

// Writes the byte as a C string literal has it, without a NUL; returns the number of characters, 1 to 4.
uint32_t escape_byte(char* out, uint8_t byte);

// Writes how a C string literal has the beginning of a text of `left` bytes, which are 1 or more: a character of valid UTF-8
// beyond ASCII as \u and four hexadecimal digits, or \U and eight, and what else there is as escape_byte(). Stores the number of
// bytes that it stands for. out: at least 10 bytes; returns the number of characters.
uint32_t escape_character(char* out, const char* text, uint32_t left, uint32_t* taken);

// Returns the name of an errno value ("ENOENT"), in 16 bytes of which the last ones are NUL where it is shorter; "" for numbers
// not in use. REQUIRES: number < kErrorCount.
inline constexpr uint32_t kErrorCount = 134;
const char* error_name(uint32_t number);

// Writes 0x and the digits, without a NUL; returns the length. out: at least 18 bytes.
uint32_t write_hex(char* out, uint64_t value);
// Reads the next address, in hexadecimal, of a text of them that spaces and newlines separate, and moves *at behind it. False:
// the text has ended, or what comes is not a number.
bool take_address(const char** at, uint64_t* address);
// Writes a float (kind 4: its bits are `low`), double (8) or long double of the x87 (10: `low` its significand, `high` sign and
// exponent) as the shortest decimal number that is read as the same, a long double with 18 digits at most; "inf", "nan". Without
// a NUL; returns the length. out: at least 40 bytes.
uint32_t put_shortest(Context*, char* out, uint32_t kind, uint64_t low, uint32_t high);
// Returns the probed program counter; 0: unknown.
extern "C" int64_t spile_fn_uaddr(Context*);

namespace {  // internal to each user: no section of its own in the bitcode's object

// Appends to a string's buffer of spile_rt_string_size bytes, cutting off what does not fit. end() puts the NUL.
struct TextBuffer {
  char* out;
  uint32_t at;  // where the next byte goes

  // How many bytes fit besides the NUL.
  uint32_t room() const { return spile_rt_string_size - 1 - at; }
  void put(const char* text, uint32_t length) {
    if (length > room()) length = room();
    copy_bytes(out + at, text, length);
    at += length;
  }
  // Appends the text with escapes, as far as whole escapes fit and `spared` bytes are left over.
  void put_escaped(const char* text, uint32_t length, uint32_t spared = 0) {
    uint32_t taken = 1;
    for (uint32_t i = 0; i < length; i += taken) {
      char escaped[10];
      uint32_t count = escape_character(escaped, text + i, length - i, &taken);
      if (count + spared > room()) return;
      put(escaped, count);
    }
  }
  void end() { out[at] = 0; }
};

// Writes "text" with quotes and escapes in at most `limit` (taken as 8 if less) bytes with the NUL; "..." behind the closing
// quote stands for what does not fit. Ended by end(), cut(), or a put() that returns false.
class QuotedText {
 public:
  QuotedText(char* out, uint32_t limit) : out_(out), limit_(limit < kLeast ? kLeast : limit) { out_[at_++] = '"'; }

  // Appends a byte. False: it did not fit, and cut() has ended the text.
  bool put(uint8_t byte) {
    char escaped[4];
    return put(escaped, escape_byte(escaped, byte));
  }
  // Appends what a byte or a character is escaped as. False: as put(byte).
  bool put(const char* escaped, uint32_t count) {
    if (at_ + count + 2 > limit_) return cut();
    // Until the end is known, this is where the ellipsis would still fit.
    if (at_ + count + kRest <= limit_) fits_ = at_ + count;
    copy_bytes(out_ + at_, escaped, count);
    at_ += count;
    return true;
  }
  void end() {
    out_[at_++] = '"';
    out_[at_] = 0;
  }
  // Ends the text by "...". Returns false.
  bool cut() {
    at_ = fits_;
    copy_bytes(out_ + at_, "\"...", 5);
    return false;
  }

 private:
  static constexpr uint32_t kRest = 5;  // "..." and NUL, after the quote
  static constexpr uint32_t kLeast = 8;
  char* out_;
  uint32_t limit_;
  uint32_t at_ = 0;
  uint32_t fits_ = 1;
};

// Quotes a whole text. cut: whether it is only the beginning of one, so that "..." follows.
inline void put_quoted(char* out, uint32_t limit, const char* text, uint32_t length, bool cut) {
  QuotedText quoted(out, limit);
  uint32_t taken = 1;
  for (uint32_t i = 0; i < length; i += taken) {
    char escaped[10];
    if (!quoted.put(escaped, escape_character(escaped, text + i, length - i, &taken))) return;
  }
  if (cut) {
    quoted.cut();
  } else {
    quoted.end();
  }
}

}  // namespace

}  // namespace spile::rt
