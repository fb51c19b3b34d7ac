#pragma once
// Starts a program as a child that waits before its exec, so that a tracer can seize it in time (Tracer::seize_child).

#include "engine/terms/options.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

// A child before its exec: start(), seize it, go(), failure(). The program gets the signal mask that spile was started with, and
// its actions for signals that spile ignores. The caller reaps the child. A Launcher that is destroyed before go() lets the child
// exec, too: kill it first. One thread.
class Launcher {
 public:
  // Forks the child. Errors: no arguments, no such program, no such user, fork or pipe failed.
  static Result<Launcher> start(const LaunchOptions& options);

  pid_t pid() const { return pid_; }
  const std::string& program() const { return program_; }
  // Lets the child exec. REQUIRES: it is traced.
  void go();
  // Waits until the child has exec'd or ended. Returns why its exec, or the change of its user, failed; absent: it has exec'd, or
  // was killed before. REQUIRES: go() was called, and no stop of the child before its exec has to be handled by this thread.
  std::optional<Error> failure();

 private:
  pid_t pid_ = 0;
  std::string program_;
  UniqueFd gate_;    // closed by go(): the child goes on
  UniqueFd report_;  // the child writes errno if it can't exec
};

}  // namespace spile::engine
