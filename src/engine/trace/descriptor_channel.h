#pragma once
// Gives a target open descriptors of the controller's: the target makes a socket pair, the controller takes one end by
// pidfd_getfd(2) and sends over it (SCM_RIGHTS). Works whatever the target's user, root directory, namespaces and
// /proc are, since it needs only the right to trace it, and a thread that can make system calls for us (remote_call.h). Every
// descriptor is close-on-exec from its first moment.

#include <span>

#include "base/unique_fd.h"
#include "engine/process/target_memory.h"
#include "engine/trace/remote_call.h"

namespace spile::engine {

// Sends bytes over a socket of this process, with a descriptor if `fd` is not -1 (SCM_RIGHTS), which stays the caller's. flags:
// of send(2); MSG_NOSIGNAL is added. Returns how many bytes were sent, perhaps fewer than given, or -1 with errno.
ssize_t send_with_descriptor(int socket, std::span<const uint8_t> bytes, int fd, int flags = 0);
// Receives bytes that have arrived, without waiting. Puts the last of the descriptors that come with them into `descriptor`,
// which is left as it is if none comes, and closes the others. Returns how many bytes were received, 0 when the peer has closed
// its end, or -1 with errno (EAGAIN: none has arrived).
ssize_t receive_with_descriptor(int socket, std::span<uint8_t> bytes, UniqueFd& descriptor);

// The two sockets of one target: open(), any number of send(), close(). `calls` must be of a thread of that target each time.
// Without close() the target keeps its two ends.
class DescriptorChannel {
 public:
  // Makes the sockets. After an error the target may be left with its ends open. memory: outlives the channel. scratch: 256
  // writable bytes of the target, used only by the channel until close(), which clears them.
  static Result<DescriptorChannel> open(RemoteCalls& calls, const TargetMemory& memory, pid_t pid, Address scratch);
  // Gives `fd`, which stays the caller's, to the target. Returns the descriptor's number there; the caller has the target close
  // it.
  Result<int> send(RemoteCalls& calls, int fd);
  // Closes both ends in the target, and clears the scratch bytes.
  Result<void> close(RemoteCalls& calls);

 private:
  const TargetMemory* memory_ = nullptr;
  Address scratch_;
  int remote_[2] = {-1, -1};
  UniqueFd local_;
};

}  // namespace spile::engine
