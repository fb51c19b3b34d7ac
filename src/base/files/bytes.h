#pragma once
// Bytes that are read one after the other, as ELF sections, files and messages have them, and numbers in as few bytes as they
// need: LEB128 (DWARF 5, 7.6), 7 bits a byte, the lowest first, bit 7 set in all bytes but the last.
//
// The bytes may be damaged, or made by somebody who means harm: nothing here reads past their end. Thread rule: one thread for
// each object.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace spile {

// Reads numbers and texts in a row; numbers are little-endian, as this processor's are. Where the bytes end too early or can't be
// right, a read returns 0 or "", and from then on failed() and at_end() are true. The bytes must outlive the cursor and the views
// that it returns. All of it is inline: reading DWARF is made of it.
class ByteCursor {
 public:
  // at: offset to begin at. Beyond the end, the cursor has failed.
  explicit ByteCursor(std::string_view bytes, uint64_t at = 0) : bytes_(bytes) { move_to(at); }

  size_t at() const { return at_; }  // offset of the next byte
  bool failed() const { return failed_; }
  bool at_end() const { return at_ >= bytes_.size(); }
  size_t left() const { return bytes_.size() - at_; }  // bytes
  std::string_view rest() const { return bytes_.substr(at_); }
  // Declares the bytes wrong: drops the rest of them.
  void fail() {
    failed_ = true;
    at_ = bytes_.size();
  }
  // Goes on at an offset. Beyond the end: fails. A cursor that has failed stays at the end.
  void move_to(uint64_t at) {
    if (failed_ || at > bytes_.size()) return fail();
    at_ = at;
  }
  void skip(uint64_t count) {
    if (count > left()) return fail();
    at_ += count;
  }
  // Returns the next `count` bytes; "" and fails, if there are fewer.
  std::string_view take(uint64_t count) {
    if (count > left()) return fail(), std::string_view();
    const std::string_view taken(bytes_.data() + at_, count);
    at_ += count;
    return taken;
  }
  // Returns the text up to the next zero, without it, and goes on behind it.
  std::string_view text() {
    const size_t end = bytes_.find('\0', at_);
    if (end == std::string_view::npos) return fail(), std::string_view();
    const std::string_view text(bytes_.data() + at_, end - at_);
    at_ = end + 1;
    return text;
  }

  // Reads a value as it is in memory. REQUIRES: any bytes make a T.
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  T fixed() {
    T value{};
    if (sizeof value > left()) return fail(), value;
    memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  // Reads an unsigned number of `size` bytes. REQUIRES: size <= 8.
  uint64_t number(size_t size) {
    uint64_t value = 0;
    if (size > left()) return fail(), value;
    memcpy(&value, bytes_.data() + at_, size);
    at_ += size;
    return value;
  }

  // Read a number in LEB128: at most 10 bytes, as libdw does; a longer one is wrong. Bits above 64 are dropped.
  uint64_t uleb() {
    if (at_ < bytes_.size() && byte_at(at_) < 0x80) return byte_at(at_++);
    unsigned bits;
    return leb(bits);
  }
  int64_t sleb() {
    unsigned bits;
    uint64_t value = leb(bits);
    if (bits < 64 && value >> (bits - 1) & 1) value |= ~uint64_t{0} << bits;
    return static_cast<int64_t>(value);
  }

 private:
  static constexpr unsigned kMostBits = 70;  // of the 10 bytes that 64 bits take
  uint8_t byte_at(size_t at) const { return static_cast<uint8_t>(bytes_[at]); }
  // bits: how many the bytes have, from 7 on.
  uint64_t leb(unsigned& bits) {
    uint64_t value = 0;
    for (bits = 0; at_ < bytes_.size() && bits < kMostBits;) {
      const uint8_t byte = byte_at(at_++);
      value |= uint64_t{byte & 0x7fu} << bits;
      bits += 7;
      if (!(byte & 0x80)) return value;
    }
    bits = kMostBits;
    return fail(), 0;
  }

  std::string_view bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

// Append a number in LEB128, in as few bytes as it needs.
inline void append_uleb(std::string& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}
inline void append_sleb(std::string& bytes, int64_t value) {
  for (; value < -0x40 || value >= 0x40; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value & 0x7f);
}

// Writes numbers and texts in a row, as files of spile's own have them (docs/run-format.md): numbers in LEB128, signed ones
// zigzag (0, -1, 1, -2, ...), texts behind their length.
class ByteWriter {
 public:
  void number(uint64_t value) { append_uleb(bytes_, value); }
  void signed_number(int64_t value) { number(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63)); }
  void text(std::string_view text) {
    number(text.size());
    bytes_ += text;
  }
  size_t size() const { return bytes_.size(); }
  // Returns the bytes, and empties the writer.
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads what ByteWriter wrote. Once the bytes have ended or are wrong, ok() is false and all reads give 0 or ""; loops must check
// it. The bytes must outlive the reader.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  uint64_t number() { return bytes_.uleb(); }
  // Reads a number; a larger one than `most` is wrong.
  uint64_t number_up_to(uint64_t most) {
    const uint64_t value = number();
    if (value <= most) return value;
    return refuse(), 0;
  }
  int64_t signed_number() {
    const uint64_t value = number();
    return static_cast<int64_t>(value >> 1 ^ (0 - (value & 1)));
  }
  std::string text() { return std::string(bytes_.take(number())); }
  // Declares the bytes wrong: drops the rest of them.
  void refuse() { bytes_.fail(); }
  bool ok() const { return !bytes_.failed(); }

 private:
  ByteCursor bytes_;
};

}  // namespace spile
