#pragma once
// SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGUSR2 as a readable descriptor, and SIGTSTP (Ctrl-Z) as another one. SIGTTIN and SIGTTOU are
// blocked: in the background, reading the terminal fails then and writing to it goes on, and nothing stops spile without its
// knowledge (but SIGSTOP). The mask is the process's for the life of the object.

#include <csignal>

#include "base/result.h"
#include "base/unique_fd.h"

namespace spile::session {

class Signals {
 public:
  // Blocks the signals and opens the descriptors.
  static Result<Signals> block();
  int fd() const { return fd_.get(); }
  struct Taken {
    bool stop = false;
    bool next_file = false;  // SIGUSR2
  };
  // Returns what has come since the last call.
  Taken take();
  // Readable while a SIGTSTP waits. A SIGCONT that comes before stand_still() takes it away again. -1: it is ignored.
  int stop_fd() const { return stop_fd_.get(); }
  // Lets the SIGTSTP that waits stop this process; returns when it goes on (at once where nobody could make it go on: signal(7) in an
  // orphaned process group).
  void stand_still();

  // Whether a signal to stop has come; take() still reports it.
  bool stop_is_pending();

 private:
  UniqueFd fd_;
  UniqueFd stop_fd_;
  Taken early_;  // read by stop_is_pending, not yet reported by take
};

}  // namespace spile::session
