#pragma once
// system(): commands that a script wants run, by the shell, as children of spile. They run in the background, as
// SystemTap's do; but one that ends quickly ends before what the script prints next, so that short commands' output is
// where the script's reader expects it. One thread.

#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace spile::session {

class ShellCommands {
 public:
  // Starts it; waits for its end for a moment (kPatience) only, unless many run already. Of more than kMostRunning at once
  // none is started.
  void run(const std::string& command);
  uint64_t refused() const { return refused_; }
  // At the session's end: until all have ended. A second interrupt (SIGINT and so on) leaves them alone.
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
