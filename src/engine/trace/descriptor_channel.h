#pragma once
// Gives a target open descriptors of the controller's: the target makes a socket pair, the controller takes one end by
// pidfd_getfd(2) and sends over it (SCM_RIGHTS). Works whatever the target's user, root directory, namespaces and
// /proc are, since it needs nothing but the right to trace it. Every descriptor is close-on-exec from its first moment.

#include <span>

#include "base/unique_fd.h"
#include "engine/process/target_memory.h"
#include "engine/trace/remote_call.h"

namespace spile::engine {

// Sends bytes over a local socket, with a descriptor if `fd` is not -1 (SCM_RIGHTS). Returns how many bytes were sent, or -1 with errno.
ssize_t send_with_descriptor(int socket, std::span<const uint8_t> bytes, int fd, int flags = 0);
// Receives what has come, without waiting. Keeps the last of the descriptors that come with it, and closes the others. Returns how many
// bytes were received, or -1 with errno.
ssize_t receive_with_descriptor(int socket, std::span<uint8_t> bytes, UniqueFd& descriptor);

class DescriptorChannel {
 public:
  // scratch: 256 writable bytes of the target that nobody else uses; zeroed again by close().
  static Result<DescriptorChannel> open(RemoteCalls& calls, const TargetMemory& memory, pid_t pid, Address scratch);
  // Gives `fd` to the target. Returns its number there, which the caller closes.
  Result<int> send(RemoteCalls& calls, int fd);
  Result<void> close(RemoteCalls& calls);

 private:
  const TargetMemory* memory_ = nullptr;
  Address scratch_;
  int remote_[2] = {-1, -1};
  UniqueFd local_;
};

}  // namespace spile::engine
