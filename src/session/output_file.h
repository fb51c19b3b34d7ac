#pragma once
// Writes text to standard output, to -o's file, or to -S's row of files FILE.0, FILE.1, ... of which the last N stay. Flushed text is in
// the file, whatever happens to spile then. Thread rule: one thread.

#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "session/options.h"

namespace spile::session {

// Returns -o's FILE with strftime(3)'s conversions replaced by the time of now.
std::string expand_path(const std::string& path);

class OutputFile {
 public:
  // path: empty for standard output. rotate_bytes 0: one file. rotate_files 0: all stay. Errors: the file can't be opened.
  static Result<std::unique_ptr<OutputFile>> open(const std::string& path, uint64_t rotate_bytes = 0, uint32_t rotate_files = 0);
  // Whether the text goes to a terminal: text from traced programs must be made harmless first (base/terminal_text.h).
  bool is_terminal() const { return is_terminal_; }
  // Keeps the last `bytes` of what was written in memory, from a record's beginning.
  static std::unique_ptr<OutputFile> in_memory(size_t bytes);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  void flush();
  // Returns the text that in_memory() keeps.
  std::string_view held() const;
  // Goes to the next of -S's files now (SIGUSR2); without -S the file is opened anew, for those who moved it away.
  void next_file();
  // False once the reader of our output has gone (EPIPE) or the disk is full: reported once on standard error.
  bool usable() const { return usable_; }
  // Output could not be written for another reason than that its reader has gone: the exit status says so.
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
  uint32_t number_ = 0;        // of the file being written
  UniqueFd owned_;
  int fd_ = 1;
  bool is_terminal_ = false;
  uint64_t written_ = 0;       // to this file, with what is buffered
  std::string buffer_;
  bool usable_ = true;
  bool reader_gone_ = false;
  size_t memory_limit_ = 0;           // of in_memory; 0: a file
  std::string memory_;
  std::deque<size_t> record_sizes_;   // of memory_, from memory_begin_
  size_t memory_begin_ = 0;           // what lies before has been dropped
};

}  // namespace spile::session
