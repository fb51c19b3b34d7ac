#pragma once
// Answers that took DWARF, kept in one file per module build: DIRECTORY/BUILD-ID.answers; for a file without build-id,
// DIRECTORY/path-HASH.answers. One thread.
//
//   "spile answers 13\n"       kFormat: another version is not read
//   u64 checksum               of everything behind it
//   text stamp                 which debug file the answers came from: its path, number, size and times
//   { text key, text answer }  until the end; text is a u32 length and that many bytes
//
// A file that does not fit, is larger than 256 MiB, or belongs to another user is ignored: with sudo, HOME may be
// somebody else's, who must not decide where root's probes look. Written by rename, so a reader never sees half of it;
// of two writers at the same time the last one's answers stay, and the other's are found again when asked for.

#include <string>
#include <string_view>
#include <unordered_map>

namespace spile::debuginfo {

class AnswerCache {
 public:
  // path: of the file; "": remembers for this run only. stamp: a file with another one is ignored. Reads nothing yet.
  AnswerCache(std::string path, std::string stamp) : path_(std::move(path)), stamp_(std::move(stamp)) {}

  // Returns the answer; null: not known. Valid until the next put(). The first call reads the file.
  const std::string* find(const std::string& key);
  // Remembers the answer, in place of an earlier one.
  void put(const std::string& key, std::string answer);
  // Writes the file, with what others have added to it since. Does nothing if nothing was put. Failure is silent.
  void save();

  // Returns ${XDG_CACHE_HOME:-~/.cache}/spile; "" where neither is an absolute path, or SPILE_NO_CACHE is set.
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

// Writes numbers and texts in a row. Numbers are little-endian base 128 (LEB128), signed ones zigzag.
class ByteWriter {
 public:
  void number(uint64_t value);
  void signed_number(int64_t value) { number(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63)); }
  void text(std::string_view text);
  // Returns the bytes, and empties the writer.
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads what ByteWriter wrote. Once the bytes have ended or are wrong, ok() is false and all reads give 0 or ""; loops must check it.
// The bytes must outlive the reader.
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

}  // namespace spile::debuginfo
