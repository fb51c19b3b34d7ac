#include "session/serve/standard_input.h"

#include <unistd.h>

#include <cerrno>

namespace spile::session {

namespace {

// Reading from the terminal would stop another job, as would changing its settings.
bool is_of_another_job() {
  const pid_t foreground = tcgetpgrp(STDIN_FILENO);
  return foreground >= 0 && foreground != getpgrp();
}

}  // namespace

std::unique_ptr<StandardInput> StandardInput::open(const sema::Program& program, Write write, size_t string_most) {
  std::unique_ptr<StandardInput> made(new StandardInput(std::move(write), string_most));
  for (const sema::Probe& probe : program.probes) {
    for (const sema::ResolvedPoint& point : probe.points) {
      if (is_input(point)) (point.procfs_maxsize == 1 ? made->of_characters_ : made->of_lines_).push_back(probe.index);
    }
  }
  if (made->of_characters_.empty() && made->of_lines_.empty()) return nullptr;
  termios settings;
  if (!made->of_characters_.empty() && !is_of_another_job() && tcgetattr(STDIN_FILENO, &settings) == 0) {
    made->before_ = settings;
    settings.c_lflag &= ~static_cast<tcflag_t>(ICANON);
    settings.c_cc[VMIN] = 1;
    settings.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &settings);
  }
  return made;
}

StandardInput::~StandardInput() {
  if (before_ && !is_of_another_job()) tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
}

int StandardInput::fd() const { return has_ended_ || is_of_another_job() ? -1 : STDIN_FILENO; }

void StandardInput::serve() {
  char bytes[4096];
  const ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) {
    has_ended_ = true;
    if (!line_.empty()) end_line();
    return;
  }
  for (ssize_t i = 0; i < count; i++) take(bytes[i]);
}

void StandardInput::take(char character) {
  for (int probe : of_characters_) write_(probe, {&character, 1});
  if (of_lines_.empty()) return;
  if (line_.size() < string_most_) line_ += character;
  if (character == '\n') end_line();
}

void StandardInput::end_line() {
  for (int probe : of_lines_) write_(probe, line_);
  line_.clear();
}

}  // namespace spile::session
