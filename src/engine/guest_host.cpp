#include "engine/guest_host.h"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace spile::engine {
namespace {

void watch_fd(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

// Handlers must not find less memory than their geometry says; nobody shrinks what has been sent.
bool is_large_enough(int arena, uint64_t size) {
  struct stat status {};
  return fstat(arena, &status) == 0 && static_cast<uint64_t>(status.st_size) >= size;
}

}  // namespace

Result<std::unique_ptr<GuestHost>> GuestHost::start(GuestService& service) {
  std::unique_ptr<GuestHost> host(new GuestHost(service));
  TRY(host->listener_, listen_for_guests());
  host->epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  if (!host->epoll_) return Error::from_errno("epoll_create1", errno);
  watch_fd(host->epoll_.get(), host->listener_.get());
  return host;
}

GuestHost::~GuestHost() = default;

void GuestHost::watch(int fd) { watch_fd(epoll_.get(), fd); }

void GuestHost::accept_guest() {
  UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket) return;
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
  auto guest = std::make_unique<Guest>();
  guest->channel = GuestChannel(std::move(socket), kGuestPatienceMs);
  if (peer.uid != geteuid() && peer.uid != 0) {
    return failed(*guest, {fmt::format("the spile that traces it (process {}) serves its own user only", getpid()), ""});
  }
  watch_fd(epoll_.get(), guest->channel.fd());
  guests_.push_back(std::move(guest));
}

void GuestHost::failed(Guest& guest, const Error& error) {
  MessageWriter writer;
  writer.put(error.message, error.hint);
  guest.channel.send(GuestMessage::kFailed, writer.bytes);
}

bool GuestHost::take_message(Guest& guest) {
  if (!guest.inbox.empty()) {
    ReceivedMessage message = std::move(guest.inbox.front());
    guest.inbox.pop_front();
    handle(guest, std::move(message));
    return true;
  }
  if (!guest.channel.is_readable(0)) return false;
  auto message = guest.channel.receive();
  if (message) handle(guest, std::move(*message));
  return message.has_value();
}

void GuestHost::serve() {
  while (true) {
    size_t before = guests_.size();
    if (pollfd wait{listener_.get(), POLLIN, 0}; ::poll(&wait, 1, 0) > 0) accept_guest();
    bool any = guests_.size() != before;
    // By number: what is done for one may end another.
    for (size_t i = 0; i < guests_.size(); i++) {
      if (take_message(*guests_[i])) any = true;
    }
    drop_gone();
    if (!any) return;
  }
}

void GuestHost::drop_gone() {
  for (size_t i = guests_.size(); i-- > 0;) {
    if (guests_[i]->channel.is_open()) continue;
    std::unique_ptr<Guest> gone = std::move(guests_[i]);
    guests_.erase(guests_.begin() + static_cast<int64_t>(i));
    if (gone->client) (void)service_.drop_guest(*gone->client);
  }
}

void GuestHost::handle_hello(Guest& guest, MessageReader& reader) {
  uint32_t protocol = 0;
  bool resolves = false, describes = false, watches = false;
  if (!reader.take(protocol, resolves, describes, watches) || protocol != kGuestProtocol || guest.client) {
    return failed(guest, {fmt::format("the spile that traces it (process {}) is of another version", getpid()), ""});
  }
  guest.client = &service_.add_guest();
  if (resolves) {
    guest.client->resolve_module = [this, &guest](pid_t pid, const Module& module) {
      std::vector<SiteRequest> sites;
      MessageWriter question;
      question.put(pid, module);
      if (auto answer = ask(guest, GuestMessage::kResolve, question, GuestMessage::kResolved)) {
        MessageReader(answer->bytes).take(sites);
      }
      return sites;
    };
  }
  if (describes) {
    guest.client->describe_modules = [this, &guest](pid_t pid, std::span<const Module> modules) {
      uint64_t map = 0;
      MessageWriter question;
      question.put(pid, std::vector<Module>(modules.begin(), modules.end()));
      if (auto answer = ask(guest, GuestMessage::kDescribe, question, GuestMessage::kDescribed)) {
        MessageReader(answer->bytes).take(map);
      }
      return map;
    };
  }
  if (watches) {
    guest.client->watch_threads = [this, &guest](const ThreadChange& change) {
      MessageWriter what;
      what.put(change);
      (void)ask(guest, GuestMessage::kChange, what, GuestMessage::kSeen);
    };
  }
  done(guest);
}

void GuestHost::handle(Guest& guest, ReceivedMessage message) {
  MessageReader reader(message.bytes);
  if (message.type == GuestMessage::kHello) return handle_hello(guest, reader);
  // Nonsense is not answered.
  if (!guest.client) return guest.channel.close();
  Client& client = *guest.client;
  MessageWriter answer;
  switch (message.type) {
    case GuestMessage::kImage: {
      ArenaGeometry geometry;
      abi::CodeImage image;
      if (!reader.take(image, geometry) || client.arena_fd || !is_large_enough(message.descriptor.get(), geometry.size)) {
        return guest.channel.close();
      }
      auto hold = ArenaHold::take(message.descriptor.get());
      if (!hold.ok()) return failed(guest, hold.error());
      client.hold = std::move(hold).value();
      client.image = std::move(image);
      client.geometry = geometry;
      client.arena_fd = std::move(message.descriptor);
      return done(guest);
    }
    case GuestMessage::kFollow: {
      pid_t pid = 0;
      if (!reader.take(pid)) return guest.channel.close();
      auto followed = service_.follow(client, pid);
      if (!followed.ok()) return failed(guest, followed.error());
      answer.put(*followed);
      return done(guest, answer);
    }
    case GuestMessage::kArm: {
      std::vector<SiteRequest> sites;
      if (!reader.take(sites)) return guest.channel.close();
      auto report = service_.arm_for(client, sites);
      if (!report.ok()) return failed(guest, report.error());
      answer.put(*report);
      return done(guest, answer);
    }
    case GuestMessage::kSwitch: {
      std::vector<uint32_t> ids;
      bool on = false;
      if (!reader.take(ids, on)) return guest.channel.close();
      return service_.switch_for(client, ids, on);
    }
    case GuestMessage::kLeave: {
      guest.client = nullptr;
      auto dropped = service_.drop_guest(client);
      if (!dropped.ok()) return failed(guest, dropped.error());
      return done(guest);
    }
    default:
      return guest.channel.close();
  }
}

std::optional<ReceivedMessage> GuestHost::ask(Guest& guest, GuestMessage question, const MessageWriter& what,
                                              GuestMessage answer) {
  if (!guest.channel.send(question, what.bytes)) return {};
  auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kGuestPatienceMs);
  while (true) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0 || !guest.channel.is_readable(static_cast<int>(left))) {
      guest.channel.close();  // and dropped, when next we serve
      return {};
    }
    auto message = guest.channel.receive();
    if (!message || message->type == answer) return message;
    guest.inbox.push_back(std::move(*message));
  }
}

void GuestHost::tell(const Client& client, const Event& event) {
  MessageWriter writer;
  writer.put(event);
  for (auto& guest : guests_) {
    if (guest->client == &client) guest->channel.send(GuestMessage::kEvent, writer.bytes);
  }
}

void GuestHost::tell_ending() {
  MessageWriter writer;
  writer.put(std::chrono::steady_clock::now());
  for (auto& guest : guests_) {
    if (guest->client) guest->channel.send(GuestMessage::kEnding, writer.bytes);
  }
}

}  // namespace spile::engine
