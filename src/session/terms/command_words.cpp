#include "session/terms/command_words.h"

#include <algorithm>

namespace spile::session {

namespace {

// Splits at blanks, with '...' , "..." and \c as a shell takes them. Returns no words if a quote is not closed.
std::vector<std::string> split_words(const std::string& command) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < command.size(); ++i) {
    char c = command[i];
    if (quote) {
      if (c == quote) {
        quote = 0;
      } else if (c == '\\' && quote == '"' && i + 1 < command.size() && (command[i + 1] == '"' || command[i + 1] == '\\')) {
        word += command[++i];
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else {
      if (c == '\\' && i + 1 < command.size()) c = command[++i];
      word += c;
      in_word = true;
    }
  }
  if (quote) return {};
  if (in_word) words.push_back(word);
  return words;
}

}  // namespace

std::vector<std::string> command_words(const std::string& command) {
  bool quoted = false;
  bool needs_shell = false;
  for (char c : command) {
    if (c == '\'') quoted = !quoted;
    if (!quoted && std::string_view("|&;<>()$`*?[]#~%!{}\n").find(c) != std::string_view::npos) needs_shell = true;
  }
  std::vector<std::string> words;
  if (!needs_shell) words = split_words(command);
  // Commands that a shell has built in: some have no program, others have one that does something else.
  constexpr std::string_view kBuiltins[] = {".",    ":",     "alias", "bg",    "cd",    "command", "eval",  "exec",   "exit", "export",
                                            "fg",   "hash",  "jobs",  "local", "read",  "readonly", "return", "set", "shift", "source",
                                            "times", "trap", "type",  "ulimit", "umask", "unalias", "unset", "wait"};
  if (!words.empty() && std::find(std::begin(kBuiltins), std::end(kBuiltins), words.front()) != std::end(kBuiltins)) words.clear();
  // A first word with '=' in it is an assignment to a shell.
  if (words.empty() || words.front().find('=') != std::string::npos) return {"/bin/sh", "-c", command};
  return words;
}

}  // namespace spile::session
