#include "session/signals.h"

#include <errno.h>
#include <sys/signalfd.h>

namespace spile::session {

Result<Signals> Signals::block() {
  sigset_t stops;
  sigemptyset(&stops);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR2}) sigaddset(&stops, signal);
  if (sigprocmask(SIG_BLOCK, &stops, nullptr) != 0) return Error::from_errno("block signals", errno);
  signal(SIGPIPE, SIG_IGN);
  Signals signals;
  signals.fd_.reset(signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.fd_) return Error::from_errno("signalfd", errno);
  return signals;
}

Signals::Taken Signals::take() {
  signalfd_siginfo info;
  Taken taken;
  while (read(fd_.get(), &info, sizeof info) == sizeof info) {
    (info.ssi_signo == SIGUSR2 ? taken.next_file : taken.stop) = true;
  }
  return taken;
}

}  // namespace spile::session
