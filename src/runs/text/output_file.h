#pragma once
// Writes text to standard output, to -o's file, or to -S's row of files FILE.0, FILE.1, ... of which the last N stay. Flushed
// text is in the file, whatever happens to spile then. Thread rule: one thread. REQUIRES: SIGPIPE is ignored.

#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace spile::runs {

// Returns -o's FILE with strftime(3)'s conversions (%Y and so on) replaced by the local time now.
std::string expand_path(const std::string& path);

class OutputFile {
 public:
  // Opens the file of expand_path(path), and empties it; an empty path: standard output. rotate_bytes: at which a file of the row
  // ends; 0: one file. rotate_files: how many of the row stay; 0: all. Errors: the file can't be opened.
  static Result<std::unique_ptr<OutputFile>> open(const std::string& path, uint64_t rotate_bytes = 0, uint32_t rotate_files = 0);
  // Returns whether the text goes to a terminal: text from traced programs must be made harmless first (terminal_text.h).
  bool is_terminal() const { return is_terminal_; }
  // Keeps text in memory, and no file: the last `bytes` of it, cut where one write() ended. REQUIRES: bytes > 0.
  static std::unique_ptr<OutputFile> in_memory(size_t bytes);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Buffers a record's text: a file of the row begins and ends with whole calls.
  void write(std::string_view text);
  // Writes the buffer to the file; waits while a pipe is full.
  void flush();
  // Returns the text that in_memory() keeps; valid until the next write().
  std::string_view held() const;
  // Flushes, and goes to the next of -S's files. Without -S, opens the file anew and appends to it: the user may have moved it
  // away. Does nothing more for standard output.
  void next_file();
  // Returns false once the reader of our output has gone (EPIPE), or writing has failed, which was reported once on standard
  // error. Text is dropped from then on.
  bool usable() const { return usable_; }
  // Returns whether output could not be written for another reason than that its reader has gone.
  bool failed() const { return !usable_ && !reader_gone_; }

 private:
  OutputFile(std::string path, uint64_t rotate_bytes, uint32_t rotate_files)
      : path_(std::move(path)), rotate_bytes_(rotate_bytes), rotate_files_(rotate_files) {}
  Result<void> open_file(bool truncate);
  std::string current_path() const;
  void keep(std::string_view text);
  void give_up(int error);

  std::string path_;
  uint64_t rotate_bytes_;
  uint32_t rotate_files_;
  uint32_t number_ = 0;  // of the file being written
  UniqueFd owned_;
  int fd_ = 1;
  bool is_terminal_ = false;
  uint64_t written_ = 0;  // to this file, with what is buffered
  std::string buffer_;
  bool usable_ = true;
  bool reader_gone_ = false;
  size_t memory_limit_ = 0;  // of in_memory; 0: a file
  std::string memory_;
  std::deque<size_t> record_sizes_;  // of memory_, from memory_begin_
  size_t memory_begin_ = 0;          // what lies before has been dropped
};

}  // namespace spile::runs
