#include "session/live/flight_recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "base/messages.h"
#include "base/print.h"
#include "base/text/terminal_text.h"

namespace spile::session {

namespace {

// "\0spile-flight-4711": a leading NUL makes a name of the abstract namespace (unix(7)).
socklen_t socket_address(pid_t recorder, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  std::string name = fmt::format("spile-flight-{}", recorder);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

void point_at_null(std::initializer_list<int> descriptors) {
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int descriptor : descriptors) dup2(null, descriptor);
  close(null);
}

}  // namespace

Result<int> run_in_background(const std::function<int(std::function<void()>)>& run) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno("make a pipe", errno);
  UniqueFd ready(ends[0]), signal(ends[1]);
  fflush(nullptr);
  pid_t child = fork();
  if (child < 0) return Error::from_errno("go to the background", errno);
  if (child == 0) {
    ready.reset();
    setsid();
    point_at_null({0});
    int status = run([&] {
      point_at_null({1, 2});
      if (write(signal.get(), "k", 1) == 1) signal.reset();
    });
    fflush(nullptr);
    _exit(status);
  }
  signal.reset();
  char byte;
  if (read(ready.get(), &byte, 1) == 1) {
    print_to(stdout, "{}\n", child);
    return 0;
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}

Result<FlightSocket> FlightSocket::listen() {
  FlightSocket made;
  made.fd_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address;
  socklen_t length = socket_address(getpid(), address);
  if (!made.fd_ || bind(made.fd_.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 || ::listen(made.fd_.get(), 4) != 0) {
    return Error::from_errno("make the flight recorder's socket", errno);
  }
  return made;
}

void FlightSocket::serve(const runs::OutputFile& output) {
  UniqueFd client(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!client) return;
  ucred peer{};
  socklen_t length = sizeof peer;
  getsockopt(client.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length);
  if (peer.uid != 0 && peer.uid != geteuid()) return;
  // A client that does not read must not stop the recorder for long.
  timeval patience{1, 0};
  setsockopt(client.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  std::string_view text = output.held();
  while (!text.empty()) {
    ssize_t sent = send(client.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    text.remove_prefix(static_cast<size_t>(sent));
  }
}

int dump_flight_recorder(pid_t recorder) {
  TerminalGuard guard;  // the text does not show which part of it is the script's own
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address;
  socklen_t length = socket_address(recorder, address);
  if (!fd || connect(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
    return refuse(fmt::format("process {} is not a flight recorder: {}", recorder, strerror(errno)),
                  "spile -F without -o prints the process ID of its recorder");
  }
  // Anybody may listen at a name of the abstract namespace.
  ucred peer{};
  socklen_t peer_size = sizeof peer;
  if (getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) != 0 || peer.pid != recorder) {
    return refuse(fmt::format("process {} is not a flight recorder: process {} answers in its place", recorder, peer.pid));
  }
  char bytes[65536];
  for (ssize_t n; (n = read(fd.get(), bytes, sizeof bytes)) > 0;) print_text(stdout, {bytes, static_cast<size_t>(n)});
  return fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace spile::session
