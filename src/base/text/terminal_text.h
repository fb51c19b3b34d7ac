#pragma once
// Text from elsewhere on its way to a terminal: a traced program's strings, names of files, symbols and processes. A terminal
// obeys control characters (it can be made to change its title, its settings, what was printed before, even its input), so
// they are shown as \ooo, as C writes them in octal. Newline, tab and UTF-8 stay; bytes that are not UTF-8 are shown in octal,
// too, since 0x80 to 0x9f are control characters to terminals that do not use it.

#include <cstdio>
#include <string>
#include <string_view>

namespace spile {

// One text, in one or more pieces; a piece may end within a character.
class TerminalText {
 public:
  // Appends `text`. A character of which bytes are still to come is held back until the next call of either function.
  void append(std::string& out, std::string_view text);
  // Ends the text: appends the bytes of a character that is held back, in octal.
  void finish(std::string& out);

 private:
  void escape(std::string& out);
  bool continues(unsigned char byte) const;
  char held_[4] = {};
  size_t held_count_ = 0, wanted_ = 0;
};

// Returns `text` as one line of at most `width` bytes (at least 4) for a terminal: newlines and tabs become blanks; what is too
// long ends with "...".
std::string one_line(std::string_view text, size_t width);

// Returns the beginning of `text`, one line, that takes at most so many columns of a terminal. Characters of East Asian scripts
// and emoji take two, control characters the four of their octal form.
std::string first_columns(std::string_view text, size_t columns);

// Returns how many columns of a terminal `text` takes, whose characters first_columns() counts in the same way. REQUIRES:
// one_line() made it, or it is ours.
size_t columns_of(std::string_view text);

// While it lives, what the program writes to `stdout` and `stderr` passes through a TerminalText if they are terminals; but
// the escapes by which diagnostics set colors pass unchanged. Replaces the two streams, so one lives at a time, from before other
// threads write to after they have ended. A character that a flush cuts in two is shown in octal.
class TerminalGuard {
 public:
  TerminalGuard();
  ~TerminalGuard();
  TerminalGuard(const TerminalGuard&) = delete;
  TerminalGuard& operator=(const TerminalGuard&) = delete;

 private:
  FILE *out_, *err_;  // as they were
};

}  // namespace spile
