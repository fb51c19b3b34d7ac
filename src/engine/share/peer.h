// Who is at the other end of a local socket, and what the kernel would let that process do by itself.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace spile::engine {

class Peer {
 public:
  // Finds the process that made the connection, or (at the other end) that listened for it, as the kernel knows it (SO_PEERCRED).
  // Fails if that process is not visible in our pid namespace. socket: connected; stays the caller's.
  static Result<Peer> of(int socket);

  pid_t pid() const { return pid_; }
  // Returns the effective user that it had when it connected or listened.
  uid_t uid() const { return uid_; }
  // Returns whether the process is alive, is root's or our own user's, and is in our user namespace, as far as that may be looked
  // at: root of a container is not root.
  bool is_ours() const;
  // Returns whether it could trace the process `pid` without us (ptrace(2), "Ptrace access mode checking"): otherwise it must not
  // get at it through us. False where that is not known. Yama's relations between processes are not looked at: where they count,
  // only root may trace.
  bool may_trace(pid_t pid) const;

 private:
  bool is_alive() const;
  pid_t pid_ = 0;
  uid_t uid_ = 0;
  UniqueFd process_;  // a pidfd, where there are such of peers (Linux 6.5): its number is not another process's meanwhile
};

}  // namespace spile::engine
