#pragma once
// Lines from a person at a terminal, with history and completion (libedit), or from a pipe or file, without. One at a
// time in a process: libedit's state is global.

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace spile::editor {

class LineReader {
 public:
  // completions: the texts that may replace the word that ends at a place of a line, given where the word begins.
  struct Completions {
    size_t begin = 0;
    std::vector<std::string> words;
  };
  using Completer = std::function<Completions(const std::string& line, size_t place)>;

  // history_file: read now, written when the reader ends; "": none.
  LineReader(Completer completer, std::string history_file);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Reads a line; returns std::nullopt at the end of the input.
  std::optional<std::string> read(const std::string& prompt);
  bool is_terminal() const { return is_terminal_; }

 private:
  Completer completer_;
  std::string history_file_;
  bool is_terminal_;
};

}  // namespace spile::editor
