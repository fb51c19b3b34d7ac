#include "session/terms/command_words.h"

#include <algorithm>
#include <iterator>
#include <string_view>

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
      } else if (c == '\\' && quote == '"' && i + 1 < command.size() &&
                 std::string_view("\"\\$`").find(command[i + 1]) != std::string_view::npos) {
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

// Commands that a shell has built in: some have no program, others have one that does something else.
constexpr std::string_view kBuiltins[] = {".",    ":",        "alias",  "bg",    "cd",      "command", "eval",
                                          "exec", "exit",     "export", "fg",    "hash",    "jobs",    "local",
                                          "read", "readonly", "return", "set",   "shift",   "source",  "times",
                                          "trap", "type",     "ulimit", "umask", "unalias", "unset",   "wait"};
constexpr std::string_view kReserved[] = {"!", "[[", "case", "for", "function", "if", "select", "time", "until", "while", "{"};

// The characters of a command that a shell takes for more than themselves: of "a > '$b'" the '>' alone.
std::string special_characters(const std::string& command) {
  std::string special;
  char quote = 0;
  for (size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == '\\' && quote != '\'' && i + 1 < command.size()) {
      if (command[++i] == '\n') special += '\n';  // continues a line
      continue;
    }
    const std::string_view active = quote == '\'' ? "" : quote == '"' ? "$`" : "|&;<>()$`*?[]#~%!{}\n";
    if (active.find(c) != std::string_view::npos) special += c;
    if (quote == 0 && (c == '\'' || c == '"')) quote = c;
    else if (c == quote) quote = 0;
  }
  return special;
}

std::string_view first_word(std::string_view command) {
  const size_t begin = std::min(command.find_first_not_of(" \t"), command.size());
  return command.substr(begin, command.find_first_of(" \t", begin) - begin);
}

// Whether a shell takes a first word as an assignment: NAME=VALUE. A path may have a '=' in it.
bool is_assignment(std::string_view word) { return word.substr(0, word.find('/')).find('=') != std::string_view::npos; }

// Whether one program is all that a shell runs for the command: an exec before it is the same then.
bool is_one_program(const std::string& command, const std::string& special) {
  const std::string_view first = first_word(command);
  const bool is_plain =
      !first.empty() && !is_assignment(first) && first.find_first_of("'\"\\|&;<>()$`*?[]#~!{}\n") == std::string_view::npos;
  return is_plain && special.find_first_of("|&;()\n#") == std::string::npos &&
         std::ranges::find(kBuiltins, first) == std::end(kBuiltins) && std::ranges::find(kReserved, first) == std::end(kReserved);
}

}  // namespace

std::vector<std::string> command_words(const std::string& command) {
  const std::string special = special_characters(command);
  std::vector<std::string> words;
  if (special.empty()) words = split_words(command);
  if (!words.empty() && std::ranges::find(kBuiltins, words.front()) != std::end(kBuiltins)) words.clear();
  if (!words.empty() && !is_assignment(words.front())) return words;
  // The program is the target then, rather than a shell that waits for it.
  return {"/bin/sh", "-c", is_one_program(command, special) ? "exec " + command : command};
}

std::string command_program(const std::string& command) {
  const std::vector<std::string> words = command_words(command);
  constexpr std::string_view kExec = "exec ";
  const bool is_executed = words.size() == 3 && words.front() == "/bin/sh" && words[2] == std::string(kExec) + command;
  return is_executed ? std::string(first_word(command)) : words.front();
}

}  // namespace spile::session
