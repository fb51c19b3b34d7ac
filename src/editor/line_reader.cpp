#include "editor/line_reader.h"

#include <editline/readline.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <iostream>

#include "base/text/terminal_text.h"

namespace spile::editor {

namespace {

constexpr int kHistoryLines = 1000;

// libedit calls plain functions, which use these variables.
const LineReader::Completer* active_completer = nullptr;
std::vector<std::string> active_words;

char* next_word(const char*, int state) {
  static size_t next;
  if (state == 0) next = 0;
  return next < active_words.size() ? strdup(active_words[next++].c_str()) : nullptr;
}

// libedit's own word, [start, end) of the line, may be shorter than ours: process("x").fun is several of its words. It
// replaces its own, so what stands before that is cut off our candidates.
char** complete_word(const char* text, int start, int end) {
  rl_attempted_completion_over = 1;  // no file names
  active_words.clear();
  LineReader::Completions found = (*active_completer)(std::string(rl_line_buffer), static_cast<size_t>(end));
  size_t extra = static_cast<size_t>(start) > found.begin ? static_cast<size_t>(start) - found.begin : 0;
  for (std::string& word : found.words) {
    // Names come from other people's files, and libedit prints them as they are.
    TerminalText terminal;
    std::string shown;
    terminal.append(shown, word);
    terminal.finish(shown);
    if (word.size() >= extra && shown == word) active_words.push_back(word.substr(extra));
  }
  return active_words.empty() ? nullptr : rl_completion_matches(text, next_word);
}

}  // namespace

LineReader::LineReader(Completer completer, std::string history_file)
    : completer_(std::move(completer)),
      history_file_(std::move(history_file)),
      is_terminal_(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
  if (!is_terminal_) return;
  rl_readline_name = const_cast<char*>("spile");
  rl_initialize();
  using_history();
  stifle_history(kHistoryLines);
  if (!history_file_.empty()) read_history(history_file_.c_str());
  active_completer = &completer_;
  rl_attempted_completion_function = complete_word;
  rl_completion_append_character = '\0';
}

LineReader::~LineReader() {
  if (!is_terminal_) return;
  if (!history_file_.empty()) write_history(history_file_.c_str());
  active_completer = nullptr;
}

std::optional<std::string> LineReader::read(const std::string& prompt) {
  if (!is_terminal_) {
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
  }
  char* typed = readline(prompt.c_str());
  if (!typed) return std::nullopt;
  std::string line = typed;
  free(typed);
  if (line.find_first_not_of(" \t") != std::string::npos) add_history(line.c_str());
  return line;
}

}  // namespace spile::editor
