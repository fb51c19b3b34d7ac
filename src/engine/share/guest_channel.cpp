#include "engine/share/guest_channel.h"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <stddef.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <thread>

#include "engine/process/process_status.h"
#include "engine/share/peer.h"
#include "engine/trace/descriptor_channel.h"

namespace spile::engine {
namespace {

constexpr uint64_t kMostBytes = uint64_t{256} << 20;
constexpr size_t kMostNames = 4096;
constexpr int kBacklog = 64;
constexpr uint64_t kPart = 1 << 20;  // memory for a message is taken as it comes

struct Header {
  uint32_t type;
  uint32_t has_descriptor;
  uint64_t size;
};

// Abstract names: spile-engine-TID-NUMBER. TID says whose it is; the random number, that nobody took the name before.
std::string name_prefix(pid_t tid) { return fmt::format("spile-engine-{}-", tid); }

struct Name {
  sockaddr_un address{};
  socklen_t length = 0;
  explicit Name(std::string_view name) {
    name = name.substr(0, sizeof address.sun_path - 1);
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path + 1, name.data(), name.size());
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// Names that may be of the tracer's listener; anybody can add to them. proc_net(5): the last field, with '@' for the first NUL.
std::vector<std::string> names_of_tracer(pid_t tid) {
  std::vector<std::string> names;
  std::string begin = " @" + name_prefix(tid);
  std::ifstream sockets("/proc/self/net/unix");
  for (std::string line; names.size() < kMostNames && std::getline(sockets, line);) {
    size_t at = line.find(begin);
    if (at != std::string::npos) names.push_back(line.substr(at + 2));
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

bool GuestChannel::wait_for(short what, Clock::time_point deadline) const {
  while (true) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd wait{socket_.get(), what, 0};
    int ready = ::poll(&wait, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

// descriptor: is sent with the first byte; -1: none.
bool GuestChannel::send_all(std::span<const uint8_t> bytes, int descriptor, Clock::time_point deadline) {
  while (!bytes.empty()) {
    ssize_t sent = send_with_descriptor(socket_.get(), bytes, descriptor, MSG_DONTWAIT);
    if (sent < 0 && errno == EAGAIN && wait_for(POLLOUT, deadline)) continue;
    if (sent <= 0) return false;
    descriptor = -1;
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
  return true;
}

// descriptor: becomes one that comes with the bytes; null: the kernel closes it.
bool GuestChannel::receive_all(std::span<uint8_t> bytes, UniqueFd* descriptor, Clock::time_point deadline) {
  while (!bytes.empty()) {
    ssize_t got = descriptor ? receive_with_descriptor(socket_.get(), bytes, *descriptor)
                             : recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN && wait_for(POLLIN, deadline)) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
  return true;
}

bool GuestChannel::send(GuestMessage type, std::string_view bytes, int descriptor) {
  if (!is_open()) return false;
  Header header{static_cast<uint32_t>(type), descriptor >= 0, bytes.size()};
  auto deadline = Clock::now() + limit_;
  bool whole = send_all({reinterpret_cast<const uint8_t*>(&header), sizeof header}, descriptor, deadline) &&
               send_all({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, -1, deadline);
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
  auto deadline = Clock::now() + limit_;
  bool whole = receive_all({reinterpret_cast<uint8_t*>(&header), sizeof header}, &received.descriptor, deadline) &&
               header.size <= kMostBytes && header.type <= static_cast<uint32_t>(GuestMessage::kSeen);
  while (whole && received.bytes.size() < header.size) {
    size_t before = received.bytes.size();
    received.bytes.resize(before + std::min<uint64_t>(header.size - before, kPart));
    whole = receive_all({reinterpret_cast<uint8_t*>(received.bytes.data()) + before, received.bytes.size() - before}, nullptr,
                        deadline);
  }
  if (!whole) {
    close();
    return {};
  }
  received.type = static_cast<GuestMessage>(header.type);
  return received;
}

Result<UniqueFd> listen_for_guests() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return Error::from_errno("a socket for other spiles", errno);
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) return Error::from_errno("getrandom", errno);
  Name name(fmt::format("{}{:016x}", name_prefix(gettid()), number));
  if (bind(socket.get(), name.get(), name.length) != 0 || ::listen(socket.get(), kBacklog) != 0) {
    return Error::from_errno("a socket for other spiles", errno);
  }
  return socket;
}

Result<GuestChannel> connect_to_tracer(pid_t tid, int limit_ms) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms);
  for (bool is_busy = true; is_busy; std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
    is_busy = false;
    for (const std::string& candidate : names_of_tracer(tid)) {
      // A connect that waits for a listener which others keep busy would wait for as long as they like.
      UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (!socket) return Error::from_errno("a socket", errno);
      Name name(candidate);
      if (connect(socket.get(), name.get(), name.length) != 0) {
        is_busy |= errno == EAGAIN;
        continue;
      }
      // Any process may take such a name; the kernel knows which one has. A tracer of another user could ask us for anything.
      TRY(Peer peer, Peer::of(socket.get()));
      if (std::to_string(peer.pid()) != process_status(tid, "Tgid")) continue;
      if (!peer.is_ours()) {
        return Error{fmt::format("a spile of another user (process {} of user {}) traces it, which is not trusted", peer.pid(),
                                 peer.uid()),
                     "end that one first"};
      }
      return GuestChannel(std::move(socket), limit_ms);
    }
    if (is_busy && std::chrono::steady_clock::now() > deadline) {
      return Error{fmt::format("the socket of tracer {} is kept busy by other processes", tid), "try again"};
    }
  }
  return GuestChannel();
}

}  // namespace spile::engine
