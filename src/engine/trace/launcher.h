#pragma once
// Starts a program under the tracer, stopped right after its exec.

#include "engine/terms/options.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

// A child that waits to be traced before it goes on to exec, with the signal mask that this program was started with and
// SIGPIPE as usual.
class Launcher {
 public:
  static Result<Launcher> start(const LaunchOptions& options);

  pid_t pid() const { return pid_; }
  // Lets the child exec. REQUIRES: it is traced.
  void go();
  // Waits until the child has exec'd or ended. Returns why it has ended without an exec; empty: it has exec'd.
  std::optional<Error> failure();

 private:
  pid_t pid_ = 0;
  std::string program_;
  UniqueFd gate_;    // closed by go(): the child goes on
  UniqueFd report_;  // the child writes errno if it can't exec
};

}  // namespace spile::engine
