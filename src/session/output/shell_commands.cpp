#include "session/output/shell_commands.h"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/messages.h"
#include "base/processes/spawn.h"

namespace spile::session {

namespace {

constexpr int kPatienceMs = 50;

}  // namespace

bool ShellCommands::run(const std::string& command) {
  std::erase_if(children_, [&](const Child& child) { return wait_one(child, 0, -1); });
  if (children_.size() >= kMostRunning) return false;
  Child child{};
  if (int error = spawn({"/bin/sh", "-c", command}, &child.pid); error != 0) {
    warn(fmt::format("system(\"{}\"): {}", command, strerror(error)));
    return true;
  }
  child.ended.reset(static_cast<int>(syscall(SYS_pidfd_open, child.pid, 0)));
  if (!child.ended) return true;
  const int patience = children_.size() < kManyRunning ? kPatienceMs : 0;
  if (!wait_one(child, patience, -1)) children_.push_back(std::move(child));
  return true;
}

bool ShellCommands::wait_one(const Child& child, int timeout_ms, int interrupt_fd) {
  pollfd wait[2] = {{child.ended.get(), POLLIN, 0}, {interrupt_fd, POLLIN, 0}};
  while (poll(wait, 2, timeout_ms) < 0 && errno == EINTR) {
  }
  if (wait[0].revents == 0) return false;
  waitpid(child.pid, nullptr, WNOHANG);
  return true;
}

void ShellCommands::wait_all(int interrupt_fd) {
  for (const Child& child : children_) {
    if (!wait_one(child, -1, interrupt_fd)) return;
  }
  children_.clear();
}

}  // namespace spile::session
