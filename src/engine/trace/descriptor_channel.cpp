#include "engine/trace/descriptor_channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace spile::engine {
namespace {

// The msghdr for recvmsg and all it points to, as it lies in the target.
struct Reception {
  msghdr header;
  iovec vector;
  char byte[8];
  alignas(8) char control[CMSG_SPACE(sizeof(int))];
};
static_assert(sizeof(Reception) <= 256);

}  // namespace

ssize_t send_with_descriptor(int socket, std::span<const uint8_t> bytes, int fd, int flags) {
  iovec vector{const_cast<uint8_t*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL | flags);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

ssize_t receive_with_descriptor(int socket, std::span<uint8_t> bytes, UniqueFd& descriptor) {
  iovec vector{bytes.data(), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  for (cmsghdr* each = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr; each; each = CMSG_NXTHDR(&message, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    // The room for one descriptor, rounded up, is room for two.
    for (size_t at = CMSG_LEN(0); at + sizeof(int) <= each->cmsg_len; at += sizeof(int)) {
      int fd = -1;
      memcpy(&fd, reinterpret_cast<const char*>(each) + at, sizeof fd);
      descriptor = UniqueFd(fd);
    }
  }
  return got;
}

Result<DescriptorChannel> DescriptorChannel::open(RemoteCalls& calls, const TargetMemory& memory, pid_t pid, Address scratch) {
  DescriptorChannel channel;
  channel.memory_ = &memory;
  channel.scratch_ = scratch;
  TRY_DO(calls.call("socketpair", SYS_socketpair, {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, scratch.value}));
  TRY_DO(memory.read(scratch, {reinterpret_cast<uint8_t*>(channel.remote_), sizeof channel.remote_}));
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) return Error::from_errno("pidfd_open", errno);
  channel.local_ = UniqueFd(static_cast<int>(syscall(SYS_pidfd_getfd, pidfd.get(), channel.remote_[1], 0)));
  if (!channel.local_) return Error::from_errno("pidfd_getfd", errno);
  return channel;
}

Result<int> DescriptorChannel::send(RemoteCalls& calls, int fd) {
  const uint8_t byte = 's';
  // The target may have put another socket there, which must not make us wait.
  if (send_with_descriptor(local_.get(), {&byte, 1}, fd, MSG_DONTWAIT) != 1) return Error::from_errno("send a descriptor", errno);
  Reception reception{};
  auto remote = [&](const void* member) {
    auto offset = static_cast<const char*>(member) - reinterpret_cast<const char*>(&reception);
    return reinterpret_cast<void*>(scratch_.value + static_cast<uint64_t>(offset));
  };
  reception.header.msg_iov = static_cast<iovec*>(remote(&reception.vector));
  reception.header.msg_iovlen = 1;
  reception.header.msg_control = remote(reception.control);
  reception.header.msg_controllen = sizeof reception.control;
  reception.vector = {remote(reception.byte), 1};
  TRY_DO(memory_->write_value(scratch_, reception));
  TRY_DO(calls.call("recvmsg", SYS_recvmsg, {static_cast<uint64_t>(remote_[0]), scratch_.value, MSG_CMSG_CLOEXEC}));
  TRY(reception, memory_->read_value<Reception>(scratch_));
  auto* rights = reinterpret_cast<const cmsghdr*>(reception.control);
  if (reception.header.msg_controllen < CMSG_LEN(sizeof(int)) || rights->cmsg_type != SCM_RIGHTS) {
    return Error{"the target received no descriptor", "is its limit of open files exhausted?"};
  }
  int received;
  memcpy(&received, CMSG_DATA(rights), sizeof received);
  return received;
}

Result<void> DescriptorChannel::close(RemoteCalls& calls) {
  for (int fd : remote_) TRY_DO(calls.call("close", SYS_close, {static_cast<uint64_t>(fd)}));
  return memory_->write_value(scratch_, Reception{});
}

}  // namespace spile::engine
