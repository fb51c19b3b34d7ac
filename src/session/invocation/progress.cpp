#include "session/invocation/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "base/messages.h"
#include "base/processes/threads.h"
#include "base/text/terminal_control.h"

namespace spile::session {

namespace {

constexpr auto kPatience = std::chrono::milliseconds(300), kPeriod = std::chrono::milliseconds(500);

// Past the streams, which other threads use. The cursor stays at the beginning of the line, so that a message begins there.
void write_line(const std::string& text) {
  const std::string line = "\r" + text + "\x1b[K\r";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

bool shows_progress(const MessageOptions& messages) {
  static const bool is_terminal = isatty(STDERR_FILENO) == 1;
  return is_terminal && !message_sink() && !messages.suppress_warnings &&
         messages.pass_verbosity == decltype(messages.pass_verbosity){};
}

Progress::Progress(const MessageOptions& messages)
    : enabled_(shows_progress(messages) && obeys_control_sequences(STDERR_FILENO)) {}

void Progress::stage(const std::string& what) {
  if (!enabled_) return;
  {
    std::scoped_lock lock(mutex_);
    what_ = what;
  }
  if (thread_.joinable()) return;
  (void)try_to_start(thread_, [this](std::stop_token stop) { show(stop); });
}

void Progress::done() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void Progress::show(std::stop_token stop) {
  const auto began = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  auto wait = kPatience;
  bool shown = false;
  while (!changed_.wait_for(lock, stop, wait, [] { return false; })) {
    if (stop.stop_requested()) break;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began).count();
    write_line(seconds > 0 ? fmt::format("spile: {}, {} s", what_, seconds) : fmt::format("spile: {}", what_));
    shown = true;
    wait = kPeriod;
  }
  if (shown) write_line("");
}

}  // namespace spile::session
