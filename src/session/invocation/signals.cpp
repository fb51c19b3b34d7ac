#include "session/invocation/signals.h"

#include <errno.h>
#include <sys/signalfd.h>

#include <utility>

namespace spile::session {

namespace {

bool is_ignored(int signal) {
  struct sigaction action{};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t only(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

}  // namespace

void Signals::keep_interrupt() {
  const sigset_t set = only(SIGINT);
  if (is_ignored(SIGINT)) sigprocmask(SIG_BLOCK, &set, nullptr);
}

Result<Signals> Signals::block(bool takes_user_signal) {
  sigset_t stops;
  sigemptyset(&stops);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR2}) {
    const bool is_nohup = signal == SIGHUP && is_ignored(signal);  // it is to outlive the terminal
    if (!is_nohup) sigaddset(&stops, signal);
  }
  if (takes_user_signal) sigaddset(&stops, SIGUSR1);
  if (sigprocmask(SIG_BLOCK, &stops, nullptr) != 0) return Error::from_errno("block signals", errno);
  Signals signals;
  signals.fd_.reset(signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.fd_) return Error::from_errno("signalfd", errno);
  for (int signal : {SIGTSTP, SIGTTIN, SIGTTOU}) {
    // A signal that is blocked is kept even where it is ignored.
    if (is_ignored(signal)) continue;
    sigset_t set = only(signal);
    if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return Error::from_errno("block signals", errno);
    if (signal == SIGTSTP) signals.stop_fd_.reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  return signals;
}

void Signals::stand_still() {
  sigset_t set = only(SIGTSTP);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

Signals::Taken Signals::take() {
  signalfd_siginfo info;
  Taken taken = std::exchange(early_, {});
  while (read(fd_.get(), &info, sizeof info) == sizeof info) {
    (info.ssi_signo == SIGUSR1 ? taken.user : info.ssi_signo == SIGUSR2 ? taken.next_file : taken.stop) = true;
  }
  return taken;
}

bool Signals::stop_is_pending() {
  early_ = take();
  return early_.stop;
}

}  // namespace spile::session
