#pragma once
// SIGINT, SIGTERM, SIGHUP and SIGQUIT as a readable descriptor. The mask is the process's for the life of the object.

#include <csignal>

#include "base/result.h"
#include "base/unique_fd.h"

namespace spile::session {

class Signals {
 public:
  static Result<Signals> block();
  int fd() const { return fd_.get(); }
  // Takes what has come; true if it was a request to stop.
  bool take();

 private:
  UniqueFd fd_;
};

}  // namespace spile::session
