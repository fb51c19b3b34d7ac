#pragma once
// What the library's functions share: a string in the making.

#include "runtime/native/native.h"

namespace spile::rt {

uint32_t escape_byte(char* out, uint8_t byte);  // at most 4 characters

// E..., in 16 bytes of which the last ones are NUL where it is shorter; "" for numbers not in use. REQUIRES: below
// kErrorCount.
inline constexpr uint32_t kErrorCount = 134;
const char* error_name(uint32_t number);

// 0x and digits; the length. out: at least 18 bytes.
uint32_t write_hex(char* out, uint64_t value);
// The next address of a text of them, which blanks separate. False: there is none.
bool take_address(const char** at, uint64_t* address);
extern "C" int64_t spile_fn_uaddr(Context*);

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

// "text" with escapes in at most `limit` bytes with the NUL; "..." behind the quote stands for what does not fit.
class QuotedText {
 public:
  QuotedText(char* out, uint32_t limit) : out_(out), limit_(limit < kLeast ? kLeast : limit) { out_[at_++] = '"'; }

  // False: it did not fit; all is finished.
  bool put(uint8_t byte) {
    char escaped[4];
    uint32_t count = escape_byte(escaped, byte);
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
  bool cut() {
    at_ = fits_;
    copy_bytes(out_ + at_, "\"...", 5);
    return false;
  }

 private:
  static constexpr uint32_t kRest = 5;   // "..." and NUL, after the quote
  static constexpr uint32_t kLeast = 8;
  char* out_;
  uint32_t limit_;
  uint32_t at_ = 0;
  uint32_t fits_ = 1;
};

inline void put_quoted(char* out, uint32_t limit, const char* text, uint32_t length, bool cut) {
  QuotedText quoted(out, limit);
  for (uint32_t i = 0; i < length; ++i) {
    if (!quoted.put(static_cast<uint8_t>(text[i]))) return;
  }
  if (cut) {
    quoted.cut();
  } else {
    quoted.end();
  }
}

}  // namespace

}  // namespace spile::rt
