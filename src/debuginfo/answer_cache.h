#pragma once
// Answers that took DWARF, kept in one file per module build: DIRECTORY/BUILD-ID.answers.
//
//   "spile answers 13\n"       kFormat: another version is not read
//   u64 checksum               of everything behind it
//   text stamp                 which debug file the answers came from: its path, number, size and times
//   { text key, text answer }  until the end; text is a u32 length and that many bytes
//
// Anything that doesn't fit is as if there were no file, and so is a file of another user: with sudo, HOME may be
// somebody else's, who must not tell root's probes where to look. Written by rename, so a reader never sees half of it;
// of two writers at the same time the last one's answers stay, and the other's are found again when asked for.

#include <string>
#include <string_view>
#include <unordered_map>

namespace spile::debuginfo {

class AnswerCache {
 public:
  // An empty path: remembers for this run only.
  AnswerCache(std::string path, std::string stamp) : path_(std::move(path)), stamp_(std::move(stamp)) {}

  // Null where it isn't known. Valid until the next put().
  const std::string* find(const std::string& key);
  void put(const std::string& key, std::string answer);
  // Does nothing where nothing was put. Failure is silent.
  void save();

  // ${XDG_CACHE_HOME:-~/.cache}/spile; "" where neither is set.
  static std::string default_directory();

 private:
  using Answers = std::unordered_map<std::string, std::string>;
  Answers read_file() const;
  void load();

  std::string path_;
  std::string stamp_;
  Answers answers_;
  bool loaded_ = false;
  bool changed_ = false;
};

// Numbers and texts in a row. Numbers are little-endian base 128 (LEB128), signed ones zigzag.
class ByteWriter {
 public:
  void number(uint64_t value);
  void signed_number(int64_t value) { number(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63)); }
  void text(std::string_view text);
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads zeros and empty texts once the bytes have ended or are wrong: ok() says so, and lists stop at it.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  uint64_t number();
  uint64_t number_up_to(uint64_t most);
  // Of an enumeration that begins at 0.
  template <typename Enum>
  Enum enumerator(Enum last) {
    return static_cast<Enum>(number_up_to(static_cast<uint64_t>(last)));
  }
  int64_t signed_number();
  std::string text();
  // The bytes are wrong: from here on there are none.
  void refuse() {
    ok_ = false;
    bytes_ = {};
  }
  bool ok() const { return ok_; }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace spile::debuginfo
