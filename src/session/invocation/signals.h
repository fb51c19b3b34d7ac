#pragma once
// SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR2 and, if asked for, SIGUSR1 as a readable descriptor, and SIGTSTP (Ctrl-Z) as another
// one. SIGTTIN and SIGTTOU are blocked: in the background, reading the terminal fails then and writing to it goes on, and nothing
// stops spile without its knowledge (but SIGSTOP). The signals stay blocked after the object's end. Thread rule: one thread, that
// which calls block(); threads started later inherit the mask.

#include <csignal>

#include "base/result.h"
#include "base/unique_fd.h"

namespace spile::session {

class Signals {
 public:
  // Keeps a SIGINT that comes before block() where it is ignored, as in the background jobs of a script. Without effect where it
  // is not, and ends the program.
  static void keep_interrupt();
  // Blocks the signals and opens the descriptors. takes_user_signal: SIGUSR1, too, which ends spile otherwise. A SIGHUP that is
  // ignored (nohup) stays so. Errors: the kernel refuses.
  static Result<Signals> block(bool takes_user_signal = false);
  // Returns a descriptor that is readable when take() has something to return.
  int fd() const { return fd_.get(); }
  struct Taken {
    bool stop = false;       // any of the others: the session is to end
    bool next_file = false;  // SIGUSR2
    bool user = false;       // SIGUSR1
  };
  // Returns what has come since the last call.
  Taken take();
  // Returns a descriptor that is readable while a SIGTSTP waits; a SIGCONT that comes before stand_still() discards it. -1: it is
  // ignored.
  int stop_fd() const { return stop_fd_.get(); }
  // Lets the SIGTSTP that waits stop this process; returns when it goes on (at once where nobody could make it go on: signal(7)
  // in an orphaned process group).
  void stand_still();

  // Returns whether a signal that ends the session has come; take() still reports it.
  bool stop_is_pending();

 private:
  UniqueFd fd_;
  UniqueFd stop_fd_;
  Taken early_;  // read by stop_is_pending, not yet reported by take
};

}  // namespace spile::session
