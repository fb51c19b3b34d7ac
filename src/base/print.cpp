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
}

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
  signal(SIGPIPE, SIG_IGN);
}

const char* write_error(int error) { return error == EBADF ? "standard output is closed" : std::strerror(error); }

int finish_standard_output(int status) {
  errno = 0;
  if (std::fflush(stdout) != 0 && output_error == 0) output_error = errno;
  if (output_error == 0 || output_error == EPIPE) return status;
  fail(fmt::format("write output: {}", write_error(output_error)));
  return status != 0 ? status : 1;
}

}  // namespace spile
