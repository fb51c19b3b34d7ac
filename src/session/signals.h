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
  static Result<Signals> block();
  int fd() const { return fd_.get(); }
  struct Taken {
    bool stop = false;
    bool next_file = false;  // SIGUSR2
  };
  // What has come since.
  Taken take();
  // Readable while a SIGTSTP waits. A SIGCONT that comes before stand_still() takes it away again. -1: it is ignored.
  int stop_fd() const { return stop_fd_.get(); }
  // Lets the SIGTSTP that waits stop this process; returns when it goes on (at once where nobody could make it go on: signal(7) in an
  // orphaned process group).
  void stand_still();

  // A signal to stop has come; take() says so too.
  bool stop_is_pending();

 private:
  UniqueFd fd_;
  UniqueFd stop_fd_;
  Taken early_;  // taken off by stop_is_pending
};

}  // namespace spile::session
