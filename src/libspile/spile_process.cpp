#include "libspile/spile_process.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/processes/spawn.h"
#include "libspile/spile.h"

extern char** environ;

namespace spile::client {

namespace {

constexpr int kTheirSocket = 3;
constexpr int kLeastDescriptor = 10;  // a program may have closed its standard streams: sockets get none of their numbers

int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// Waits for an event of a descriptor. Returns false after timeout_ms; signals do not end the wait.
bool poll_for(int fd, int timeout_ms) {
  const int64_t until = now_ms() + timeout_ms;
  pollfd polled{fd, POLLIN, 0};
  while (true) {
    const int left = timeout_ms < 0 ? -1 : static_cast<int>(std::max<int64_t>(0, until - now_ms()));
    const int count = ::poll(&polled, 1, left);
    if (count > 0) return true;
    if (count == 0 || errno != EINTR) return false;
  }
}

// A socket pair beyond the standard streams, closed on exec.
Result<void> make_sockets(UniqueFd& ours, UniqueFd& theirs) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return Error::from_errno("make a socket", errno);
  const UniqueFd low[2] = {UniqueFd(pair[0]), UniqueFd(pair[1])};
  ours.reset(::fcntl(pair[0], F_DUPFD_CLOEXEC, kLeastDescriptor));
  theirs.reset(::fcntl(pair[1], F_DUPFD_CLOEXEC, kLeastDescriptor));
  if (!ours || !theirs) return Error::from_errno("make a socket", errno);
  return {};
}

}  // namespace

std::string spile_program() {
  if (const char* named = ::secure_getenv("SPILE_PROGRAM"); named && *named) return named;
  Dl_info library{};
  // Where the library is installed decides, rather than where it was to be: a prefix may have been moved.
  if (::dladdr(reinterpret_cast<const void*>(&spile_version), &library) != 0 && library.dli_fname) {
    if (char* real = ::realpath(library.dli_fname, nullptr)) {
      std::string folder = real;
      ::free(real);
      folder.resize(folder.rfind('/'));
      const std::string beside = folder + "/" SPILE_PROGRAM_FROM_LIBRARY;
      if (::access(beside.c_str(), X_OK) == 0) return beside;
    }
  }
  return "spile";
}

Result<void> SpileProcess::start(const std::vector<std::string>& arguments) {
  program_ = spile_program();
  UniqueFd ours, theirs;
  TRY_DO(make_sockets(ours, theirs));
  std::vector<std::string> words = {program_, "record", "--stream", std::to_string(kTheirSocket)};
  words.insert(words.end(), arguments.begin(), arguments.end());

  // The child has the caller's standard output and error, for the command that it may start, and none of its other descriptors.
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), kTheirSocket);
  posix_spawn_file_actions_addclosefrom_np(&actions, kTheirSocket + 1);
  const int failure = spawn_apart(std::move(words), actions, &pid_);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return Error::from_errno("run " + program_, failure, "install spile, or name the program in SPILE_PROGRAM");
  process_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  std::scoped_lock lock(mutex_);
  socket_ = std::move(ours);
  return {};
}

int SpileProcess::socket() const {
  std::scoped_lock lock(mutex_);
  return socket_.get();
}

void SpileProcess::close_requests() {
  std::scoped_lock lock(mutex_);
  if (socket_) ::shutdown(socket_.get(), SHUT_WR);
}

// What does not fit into a socket of some 200 KiB is that of a child that reads nothing: the tick for an earlier request has what
// this one asks for.
bool SpileProcess::request_tick() { return ::send(socket_.get(), "t", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1; }

bool SpileProcess::wait(int timeout_ms) const { return poll_for(socket_.get(), timeout_ms); }

SpileProcess::Received SpileProcess::receive(std::string& bytes) {
  constexpr size_t kAtOnce = 1 << 18;
  const size_t before = bytes.size();
  bytes.resize(before + kAtOnce);
  const ssize_t got = ::recv(socket_.get(), bytes.data() + before, kAtOnce, MSG_DONTWAIT);
  bytes.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (got > 0) return Received::kBytes;
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? Received::kNothing : Received::kEnd;
}

void SpileProcess::finish(int patience_ms) {
  {
    std::scoped_lock lock(mutex_);
    socket_.reset();
  }
  if (pid_ == 0 || !how_ended_.empty()) return;
  how_ended_ = "has ended";
  siginfo_t info{};
  int waited = -1;
  if (process_) {
    if (!poll_for(process_.get(), patience_ms)) ::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
    // EINVAL: a kernel whose waitid(2) takes no pidfd.
    do waited = ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(process_.get()), &info, WEXITED);
    while (waited != 0 && errno == EINTR);
  } else {
    do waited = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED);
    while (waited != 0 && errno == EINTR);
  }
  process_.reset();
  if (waited != 0) return;  // ECHILD: the caller ignores SIGCHLD, or has waited for all of its children
  how_ended_ = info.si_code == CLD_EXITED
                   ? fmt::format("has ended with status {}", info.si_status)
                   : fmt::format("was killed by signal {} ({})", info.si_status, ::strsignal(info.si_status));
}

void SpileProcess::abandon() {
  socket_.reset();
  process_.reset();
  how_ended_ = "belongs to another process";
}

}  // namespace spile::client
