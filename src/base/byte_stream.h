#pragma once
// Numbers and texts in a row of bytes, as files of spile's own have them: answers about debug information, documents of runs.
// Thread rule: one thread for each object.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace spile {

// Writes numbers and texts in a row. Numbers are little-endian base 128 (LEB128), signed ones zigzag.
class ByteWriter {
 public:
  void number(uint64_t value);
  void signed_number(int64_t value) { number(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63)); }
  void text(std::string_view text);
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
  uint64_t number();
  // Reads a number; a larger one than `most` is wrong.
  uint64_t number_up_to(uint64_t most);
  // Reads a value of an enumeration that begins at 0 and ends with `last`.
  template <typename Enum>
  Enum enumerator(Enum last) {
    return static_cast<Enum>(number_up_to(static_cast<uint64_t>(last)));
  }
  int64_t signed_number();
  std::string text();
  // Declares the bytes wrong: drops the rest of them.
  void refuse() {
    ok_ = false;
    bytes_ = {};
  }
  bool ok() const { return ok_; }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

// ---- definitions

inline void ByteWriter::number(uint64_t value) {
  while (value >= 0x80) {
    bytes_ += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  bytes_ += static_cast<char>(value);
}

inline void ByteWriter::text(std::string_view text) {
  number(text.size());
  bytes_ += text;
}

inline uint64_t ByteReader::number() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (bytes_.empty()) break;
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return value;
  }
  refuse();
  return 0;
}

inline uint64_t ByteReader::number_up_to(uint64_t most) {
  const uint64_t value = number();
  if (value <= most) return value;
  refuse();
  return 0;
}

inline int64_t ByteReader::signed_number() {
  const uint64_t value = number();
  return static_cast<int64_t>(value >> 1 ^ (0 - (value & 1)));
}

inline std::string ByteReader::text() {
  const uint64_t length = number();
  if (length > bytes_.size()) {
    refuse();
    return {};
  }
  std::string text(bytes_.substr(0, length));
  bytes_.remove_prefix(length);
  return text;
}

}  // namespace spile
