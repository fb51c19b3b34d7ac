#pragma once
// system(): runs commands of a script by the shell, as children of spile. They run in the background, as SystemTap's do; but a command
// that ends quickly ends before what the script prints next, so that its output is where the reader expects it. Thread rule: one thread.

#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace spile::session {

class ShellCommands {
 public:
  // Starts a command, and waits a moment (kPatience) for its end unless many run already. Above kMostRunning at once, no command is
  // started.
  void run(const std::string& command);
  // Returns how many commands were not started.
  uint64_t refused() const { return refused_; }
  // Waits at the session's end until all commands have ended, or until a signal (SIGINT and so on) makes interrupt_fd readable.
  void wait_all(int interrupt_fd);

 private:
  struct Child {
    pid_t pid;
    UniqueFd ended;  // a pidfd: the engine may have reaped the child before we look
  };
  bool wait_one(const Child& child, int timeout_ms, int interrupt_fd);

  static constexpr size_t kManyRunning = 16, kMostRunning = 256;

  std::vector<Child> children_;
  uint64_t refused_ = 0;
};

}  // namespace spile::session
