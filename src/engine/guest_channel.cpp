#include "engine/guest_channel.h"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/descriptor_channel.h"
#include "engine/process_status.h"

namespace spile::engine {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 30;

struct Header {
  uint32_t type;
  uint32_t has_descriptor;
  uint64_t size;
};

struct Name {
  sockaddr_un address{};
  socklen_t length = 0;
  explicit Name(pid_t tid) {
    std::string name = fmt::format("spile-engine-{}", tid);
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path + 1, name.data(), name.size());
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

}  // namespace

// A field that is added does not fit these bindings: it goes here too, both ways.
void MessageWriter::add(const SiteRequest& request) {
  auto& [id, path, address, size, function, kind, no_returns, flags, enter, exit, landing, semaphore, goroutines, enabled, in_turn] = request;
  put(id, path, address, size, function, kind, no_returns, flags, enter, exit, landing, semaphore, goroutines, enabled, in_turn);
}
void MessageReader::read(SiteRequest& request) {
  auto& [id, path, address, size, function, kind, no_returns, flags, enter, exit, landing, semaphore, goroutines, enabled, in_turn] = request;
  take(id, path, address, size, function, kind, no_returns, flags, enter, exit, landing, semaphore, goroutines, enabled, in_turn);
}
void MessageWriter::add(const Module& module) {
  auto& [path, bias, inode, device, text, lowest, highest, main, go, goroutines, goroutine] = module;
  put(path, bias, inode, device, text, lowest, highest, main, go, goroutines, goroutine);
}
void MessageReader::read(Module& module) {
  auto& [path, bias, inode, device, text, lowest, highest, main, go, goroutines, goroutine] = module;
  take(path, bias, inode, device, text, lowest, highest, main, go, goroutines, goroutine);
}
void MessageWriter::add(const abi::CodeImage& image) {
  auto& [bytes, begin, end, fixups, guru, unchecked] = image;
  put(bytes, begin, end, fixups, guru, unchecked);
}
void MessageReader::read(abi::CodeImage& image) {
  auto& [bytes, begin, end, fixups, guru, unchecked] = image;
  take(bytes, begin, end, fixups, guru, unchecked);
}
void MessageWriter::add(const SiteOutcome& outcome) {
  auto& [id, pid, mechanism, reason] = outcome;
  put(id, pid, mechanism, reason);
}
void MessageReader::read(SiteOutcome& outcome) {
  auto& [id, pid, mechanism, reason] = outcome;
  take(id, pid, mechanism, reason);
}
void MessageWriter::add(const ArmReport& report) {
  auto& [outcomes, prepare, pause, total] = report;
  put(outcomes, prepare, pause, total);
}
void MessageReader::read(ArmReport& report) {
  auto& [outcomes, prepare, pause, total] = report;
  take(outcomes, prepare, pause, total);
}
void MessageWriter::add(const Event& event) {
  auto& [kind, pid, parent, status, path, message, report] = event;
  put(kind, pid, parent, status, path, message, report);
}
void MessageReader::read(Event& event) {
  auto& [kind, pid, parent, status, path, message, report] = event;
  take(kind, pid, parent, status, path, message, report);
}

GuestChannel::GuestChannel(UniqueFd socket, int limit_ms) : socket_(std::move(socket)) {
  timeval limit{limit_ms / 1000, limit_ms % 1000 * 1000};
  setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

bool GuestChannel::send_all(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
  return true;
}

bool GuestChannel::receive_all(std::span<uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t got = recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
  return true;
}

bool GuestChannel::send(GuestMessage type, std::span<const uint8_t> bytes, int descriptor) {
  if (!is_open()) return false;
  Header header{static_cast<uint32_t>(type), descriptor >= 0, bytes.size()};
  std::span<const uint8_t> head(reinterpret_cast<const uint8_t*>(&header), sizeof header);
  ssize_t sent = send_with_descriptor(socket_.get(), head, descriptor);
  bool whole = sent > 0 && send_all(head.subspan(static_cast<size_t>(sent))) && send_all(bytes);
  if (!whole) close();
  return whole;
}

bool GuestChannel::is_readable(int timeout_ms) const {
  if (!is_open()) return false;
  pollfd wait{socket_.get(), POLLIN, 0};
  return ::poll(&wait, 1, timeout_ms) > 0;
}

std::optional<ReceivedMessage> GuestChannel::receive() {
  if (!is_open()) return {};
  ReceivedMessage received;
  Header header{};
  iovec vector{&header, sizeof header};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got;
  do {
    got = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  for (cmsghdr* each = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr; each; each = CMSG_NXTHDR(&message, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    int descriptor = -1;
    memcpy(&descriptor, CMSG_DATA(each), sizeof descriptor);
    received.descriptor = UniqueFd(descriptor);
  }
  bool whole = got > 0 && receive_all({reinterpret_cast<uint8_t*>(&header) + got, sizeof header - static_cast<size_t>(got)});
  if (whole && header.size <= kMostBytes) {
    received.type = static_cast<GuestMessage>(header.type);
    received.bytes.resize(header.size);
    if (receive_all(received.bytes)) return received;
  }
  close();
  return {};
}

Result<UniqueFd> listen_for_guests() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return Error::from_errno("a socket for other spiles", errno);
  Name name(gettid());
  if (bind(socket.get(), name.get(), name.length) != 0 || ::listen(socket.get(), 16) != 0) {
    return Error::from_errno("a socket for other spiles", errno);
  }
  return socket;
}

Result<GuestChannel> connect_to_tracer(pid_t tid, int limit_ms) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return Error::from_errno("a socket", errno);
  Name name(tid);
  if (connect(socket.get(), name.get(), name.length) != 0) return Error::from_errno("connect", errno);
  // Whoever likes may take the name; the kernel knows who has.
  ucred peer{};
  socklen_t size = sizeof peer;
  bool known = getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  if (!known || std::to_string(peer.pid) != process_status(tid, "Tgid")) {
    return Error{fmt::format("process {} has the name of tracer {}", peer.pid, tid), ""};
  }
  return GuestChannel(std::move(socket), limit_ms);
}

}  // namespace spile::engine
