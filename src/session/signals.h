#pragma once
// SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGUSR2 as a readable descriptor. The mask is the process's for the life of the object.

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

 private:
  UniqueFd fd_;
};

}  // namespace spile::session
