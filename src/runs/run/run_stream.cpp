#include "runs/run/run_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/files/bytes.h"
#include "base/processes/threads.h"

namespace spile::runs {

namespace {

constexpr size_t kMostOfText = 1 << 20;  // bytes of a part of a message

// Raises SIGTERM when the other end of the socket is closed. Before Signals::block() that ends spile, which has touched nothing
// by then; later it ends the run.
Result<void> watch_end(int socket) {
  std::thread watch;
  TRY_DO(start(watch, "the thread that watches the reader", [socket] {
    pollfd ended{socket, POLLRDHUP, 0};
    while (::poll(&ended, 1, -1) < 0 && errno == EINTR) {
    }
    ::kill(::getpid(), SIGTERM);
  }));
  watch.detach();
  return {};
}

}  // namespace

Result<std::shared_ptr<RunStream>> RunStream::open(int descriptor) {
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM)
    return Error{fmt::format("--stream {}: not a stream socket", descriptor),
                 "libspile makes one; docs/run-format.md says what goes over it"};
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  std::shared_ptr<RunStream> stream(new RunStream);
  TRY(stream->frames_, FrameWriter::stream(UniqueFd(descriptor)));
  stream->requests_ = descriptor;
  TRY_DO(watch_end(descriptor));
  set_message_sink(stream.get());
  return stream;
}

// The program ends: the watching thread still has the socket's number, which nothing else may get. Nothing closes it before the
// process is gone: that thread may only begin to look then, would take it for the other side's end, and the exit status would be
// that of SIGTERM.
RunStream::~RunStream() {
  set_message_sink(nullptr);
  (void)frames_->drain();
  static auto* const kept = new std::shared_ptr<FrameWriter>;
  *kept = std::move(frames_);
}

uint64_t RunStream::take_requests() {
  char bytes[256];
  const ssize_t got = ::recv(requests_, bytes, sizeof bytes, MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) requests_ = -1;  // watch_end() ends the run
  return got > 0 ? static_cast<uint64_t>(std::count(bytes, bytes + got, 't')) : 0;
}

// What can't be sent has no reader.
void RunStream::take(Message message) {
  ByteWriter out;
  out.number(static_cast<uint64_t>(message.kind));
  for (const std::string* text : {&message.text, &message.hint, &message.file, &message.excerpt})
    out.text(std::string_view(*text).substr(0, kMostOfText));
  for (const uint32_t number : {message.line, message.column, message.end_line, message.end_column}) out.number(number);
  (void)frames_->append(FrameKind::kMessage, out.take());
}

}  // namespace spile::runs
