#pragma once
// Runs the probes of spile's standard input: input.char and input.line, which are procfs("__stdin").write with and without
// .maxsize(1). On a terminal, input.char gets each character as it is typed: until the destructor the terminal does not wait for
// whole lines. Thread rule: one thread.

#include <termios.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sema/terms/program.h"

namespace spile::session {

class StandardInput {
 public:
  using Write = std::function<void(int probe, std::string_view text)>;

  // Returns whether the point is one of these probes'.
  static bool is_input(const sema::ResolvedPoint& point) { return point.procfs_name == "__stdin"; }
  // Null: the script has no such probes. write: runs the probe of that index with $value. string_most: bytes of a string; the
  // rest of a longer line is left out.
  static std::unique_ptr<StandardInput> open(const sema::Program& program, Write write, size_t string_most);
  ~StandardInput();
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

  // Returns a descriptor that is readable when serve() has something to do; -1: the input has ended, or the terminal is another
  // job's for now.
  int fd() const;
  // Reads once, and runs the probes of what there is. A last line without its end is one when the input ends. REQUIRES: fd() is
  // readable.
  void serve();

 private:
  StandardInput(Write write, size_t string_most) : write_(std::move(write)), string_most_(string_most) {}
  void take(char character);
  void end_line();

  const Write write_;
  const size_t string_most_;
  std::vector<int> of_characters_, of_lines_;  // probes
  std::string line_;
  std::optional<termios> before_;  // the terminal's settings, where they were changed
  bool has_ended_ = false;
};

}  // namespace spile::session
