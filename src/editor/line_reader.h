#pragma once
// Reads lines of standard input: from a terminal with history and completion (libedit), from a pipe or file without. Thread rule:
// one thread, and one LineReader at a time in a process, as libedit's state is global.

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace spile::editor {

class LineReader {
 public:
  // Words that may replace the bytes of a line from `begin` to the place of the cursor.
  struct Completions {
    size_t begin = 0;
    std::vector<std::string> words;
  };
  // place: of the cursor, in bytes.
  using Completer = std::function<Completions(const std::string& line, size_t place)>;

  // history_file: read now and written by the destructor, at a terminal; "": none.
  LineReader(Completer completer, std::string history_file);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Reads a line and returns it without its newline; null: the input has ended. prompt: printed at a terminal only.
  std::optional<std::string> read(const std::string& prompt);
  // Returns whether standard input and output are terminals.
  bool is_terminal() const { return is_terminal_; }

 private:
  Completer completer_;
  std::string history_file_;
  bool is_terminal_;
};

}  // namespace spile::editor
