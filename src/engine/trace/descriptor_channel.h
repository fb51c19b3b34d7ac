#pragma once
// Gives a target open descriptors of the controller's: the target makes a socket pair, the controller takes one end by
// pidfd_getfd(2) and sends over it (SCM_RIGHTS). Works whatever the target's user, root directory, namespaces and
// /proc are, since it needs nothing but the right to trace it. Every descriptor is close-on-exec from its first moment.

#include <span>

#include "base/unique_fd.h"
#include "engine/process/target_memory.h"
#include "engine/trace/remote_call.h"

namespace spile::engine {

// Over a local socket, with a descriptor if it is not -1 (SCM_RIGHTS). How much was sent, or -1 and errno.
ssize_t send_with_descriptor(int socket, std::span<const uint8_t> bytes, int fd, int flags = 0);
// What has come, without waiting; of descriptors that come with it the last, the others are closed. How much, or -1 and errno.
ssize_t receive_with_descriptor(int socket, std::span<uint8_t> bytes, UniqueFd& descriptor);

class DescriptorChannel {
 public:
  // scratch: 256 writable bytes of the target that nobody else uses; zeroed again by close().
  static Result<DescriptorChannel> open(RemoteCalls& calls, const TargetMemory& memory, pid_t pid, Address scratch);
  // The descriptor's number in the target; the caller closes it there.
  Result<int> send(RemoteCalls& calls, int fd);
  Result<void> close(RemoteCalls& calls);

 private:
  const TargetMemory* memory_ = nullptr;
  Address scratch_;
  int remote_[2] = {-1, -1};
  UniqueFd local_;
};

}  // namespace spile::engine
