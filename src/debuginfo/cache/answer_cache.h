#pragma once
// Answers that took DWARF, kept in one file per module build: DIRECTORY/BUILD-ID.answers; for a file without build-id,
// DIRECTORY/path-HASH.answers. DIRECTORY/BUILD-ID.imported has answers from another machine (answer_archive.h). One thread.
//
//   char[24] kFormat           another version is not read
//   u64 checksum               of everything up to the entries, but format and checksum
//   u32 stamp, name, count     bytes of the two texts; number of entries
//   stamp                      which debug file the answers came from: its path, number, size and times; "imported": none on this
//                              machine
//   name                       the module's path when the answers were found, for people
//   { u64 hash of the key, u64 offset in the file, u32 bytes of key, u32 bytes of answer }  for each entry, ascending by hash
//   { key, answer, u64 checksum of both }
//
// So a look-up reads the head and one entry. A file that does not fit, is larger than 256 MiB, or belongs to another user is
// ignored: with sudo, HOME may be somebody else's, who must not decide where root's probes look. Written by rename, so a reader
// never sees half of it; of two writers at the same time the last one's answers stay, and the other's are found again when asked
// for. When a file is written, the least recently used ones are removed until all take no more than kMostCached together, those
// of kept_sections.h first.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.h"

namespace spile::debuginfo {

inline constexpr uint64_t kMostCached = uint64_t{1} << 30;  // bytes of all files
inline constexpr char kImportedStamp[] = "imported";

using Answers = std::unordered_map<std::string, std::string>;

class AnswerCache {
 public:
  // path: of the file; "": remembers for this run only. stamp: a file with another one is ignored. name: the module's path. Reads
  // nothing yet.
  AnswerCache(std::string path, std::string stamp, std::string name)
      : path_(std::move(path)), stamp_(std::move(stamp)), name_(std::move(name)) {}
  // To read a file whatever its stamp is.
  explicit AnswerCache(std::string path) : path_(std::move(path)), any_stamp_(true) {}

  // Whether there is a file with this stamp.
  bool has_file();
  // Returns the answer; null: not known. Valid until the next put(). The first call opens the file.
  const std::string* find(const std::string& key);
  // Remembers the answer, in place of an earlier one.
  void put(const std::string& key, std::string answer);
  // Writes the file, with what others have added to it since. Does nothing if nothing was put. False: it can't be written.
  bool save();

  // Returns ${XDG_CACHE_HOME:-~/.cache}/spile; "" where neither is an absolute path, or SPILE_NO_CACHE is set.
  static std::string default_directory();

  // Returns all answers of the file.
  Answers read_all();

 private:
  struct Place {
    uint64_t hash, offset;
    uint32_t key_bytes, answer_bytes;
  };
  void open();
  bool read_head(int fd, uint64_t size);
  std::optional<std::pair<std::string, std::string>> read_entry(const Place& place) const;

  std::string path_, stamp_, name_;
  bool any_stamp_ = false;
  Answers answers_;  // found or put in this run
  bool opened_ = false, changed_ = false;
  UniqueFd file_;
  std::vector<Place> places_;  // of the file's entries, ascending by hash
};

// A file of the cache.
struct CachedFile {
  std::string path;      // of the file
  std::string build_id;  // or path-HASH
  std::string name;      // of the module, as AnswerCache has it; "": the file can't be read (another version, damaged)
  bool imported = false;
  bool sections = false;  // not answers: kept_sections.h
  uint64_t bytes = 0, answers = 0;
  int64_t used = 0;  // when it was last used or written: seconds since 1970
};
// Returns the files of answers and sections in a directory, the least recently used first.
std::vector<CachedFile> cached_files(const std::string& directory);
// Returns the answers of one of them; those that are damaged are left out.
Answers all_answers(const std::string& path);
// Returns the path of the file with imported answers about a build.
std::string imported_path(const std::string& directory, const std::string& build_id);
// Removes the least recently used files, those of sections first, until the others have at most that many bytes together. Returns
// the number of removed bytes.
uint64_t prune_answers(const std::string& directory, uint64_t most_bytes);

}  // namespace spile::debuginfo
