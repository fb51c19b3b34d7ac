#include "base/print.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "base/messages.h"

namespace spile {

namespace {
int output_error = 0;  // errno of the first write to standard output that failed

constexpr int kIgnored[] = {SIGPIPE, SIGXFSZ};

sigset_t commands_default = [] {
  sigset_t all;
  sigemptyset(&all);
  for (int signal : kIgnored) sigaddset(&all, signal);
  return all;
}();

}  // namespace

void print_text(std::FILE* stream, std::string_view text) noexcept {
  if (MessageSink* const sink = message_sink(); sink && stream == stderr) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    if (!text.empty()) sink->take(Message(MessageKind::kNote, std::string(text)));
    return;
  }
  errno = 0;
  bool written = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  if (written || stream != stdout || output_error != 0) return;
  output_error = errno != 0 ? errno : EIO;
}

void open_standard_descriptors() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this one: those below it are open by now. Output to standard output is lost, so that
    // has to fail.
    int access = descriptor == STDOUT_FILENO ? O_RDONLY : O_RDWR;
    if (open("/dev/null", access | O_CLOEXEC) != descriptor) _exit(1);
  }
  for (int ignored : kIgnored)
    if (signal(ignored, SIG_IGN) == SIG_IGN) sigdelset(&commands_default, ignored);
}

sigset_t signals_by_default() { return commands_default; }

Error write_error(std::string what, int error) {
  if (error == EBADF) return {std::move(what) + ": standard output is closed", {}};
  return Error::from_errno(std::move(what), error);
}

int finish_standard_output(int status) {
  errno = 0;
  if (std::fflush(stdout) != 0 && output_error == 0) output_error = errno;
  if (output_error == 0 || output_error == EPIPE) return status;
  fail(write_error("write output", output_error));
  return status != 0 ? status : 1;
}

}  // namespace spile
