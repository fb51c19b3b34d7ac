#pragma once
// system(): runs commands of a script by the shell, as children of spile. They run in the background, as SystemTap's do; but a
// command that ends quickly ends before what the script prints next, so that its output is where the reader expects it. Thread
// rule: one thread.

#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace spile::session {

class ShellCommands {
 public:
  // Starts a command, and waits up to 50 ms for its end, but not at all if kManyRunning are running. Prints a warning if the
  // shell can't be started. Returns false, without starting it, while kMostRunning are running.
  [[nodiscard]] bool run(const std::string& command);
  // Waits until all commands have ended, or until interrupt_fd is readable (Signals::fd()); -1: waits without limit.
  void wait_all(int interrupt_fd);

 private:
  struct Child {
    pid_t pid;
    UniqueFd ended;  // a pidfd: the engine may have reaped the child before we look
  };
  bool wait_one(const Child& child, int timeout_ms, int interrupt_fd);

  static constexpr size_t kManyRunning = 16, kMostRunning = 256;

  std::vector<Child> children_;
};

}  // namespace spile::session
