#include "engine/share/guest_host.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "abi/arena.h"

namespace spile::engine {
namespace {

void watch_fd(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

constexpr size_t kMostGuests = 256;
constexpr size_t kMostMessages = 64;  // of all guests, before the tracer gets its turn again
constexpr size_t kMostInbox = 1024;   // that came before an answer
constexpr uint64_t kLargestArena = uint64_t{1} << 46;
constexpr uint64_t kLargestImage = uint64_t{256} << 20;

// Handlers must not find less memory than their geometry states: a file with these seals can't be shrunk.
bool is_arena(int fd, uint64_t size) {
  struct stat status{};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || static_cast<uint64_t>(status.st_size) < size) return false;
  int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK);
}

bool fits(uint64_t begin, uint64_t count, uint64_t stride, uint64_t end) {
  return begin <= end && (count == 0 || stride <= (end - begin) / count);
}

bool is_sound(const ArenaGeometry& geometry) {
  return geometry.shared_size == 0 && geometry.size >= abi::kPageSize && geometry.size <= kLargestArena &&
         geometry.slot_count >= 1 && geometry.slot_stride >= abi::kThreadSlotSize &&
         fits(geometry.slots_offset, geometry.slot_count, geometry.slot_stride, geometry.size) &&
         (geometry.shadow_capacity == 0 || geometry.shadow_stride >= sizeof(abi::ShadowFrame)) &&
         fits(geometry.shadow_offset, geometry.shadow_capacity, geometry.shadow_stride, geometry.slot_stride);
}

bool is_sound(const abi::CodeImage& image) {
  uint64_t size = image.bytes.size();
  return size >= sizeof(abi::ImageCells) && size <= kLargestImage && image.code_begin <= image.code_end &&
         image.code_end <= size &&
         std::ranges::all_of(
             image.fixups,
             [&](const abi::FaultFixup& fixup) { return fixup.fault_offset < size && fixup.resume_offset < size; }) &&
         std::ranges::is_sorted(image.fixups, {}, &abi::FaultFixup::fault_offset);
}

bool is_sound(const SiteRequest& request, const abi::CodeImage& image) {
  bool in_code = true;
  request.each_handler([&](uint32_t offset) { in_code &= offset >= image.code_begin && offset < image.code_end; });
  return request.site_id <= INT32_MAX && in_code;
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
  auto peer = Peer::of(socket.get());
  if (!peer.ok()) return;
  auto guest = std::make_unique<Guest>();
  guest->channel = GuestChannel(std::move(socket), kGuestPatienceMs);
  guest->peer = std::move(peer).value();
  if (!guest->peer.is_ours()) {
    return failed(*guest, {fmt::format("the spile that traces it (process {}) serves only its own user", getpid()), ""});
  }
  if (guests_.size() >= kMostGuests) {
    return failed(*guest,
                  {fmt::format("the spile that traces it (process {}) serves {} others already", getpid(), guests_.size()), ""});
  }
  watch_fd(epoll_.get(), guest->channel.fd());
  guests_.push_back(std::move(guest));
}

void GuestHost::failed(Guest& guest, const Error& error) {
  MessageWriter writer;
  writer(error.message, error.hint);
  guest.channel.send(GuestMessage::kFailed, writer.bytes());
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
  size_t served = 0;
  auto has_kept = [](const auto& guest) { return !guest->inbox.empty(); };
  // Bytes left in a socket make wait_fd() readable again; kept messages do not.
  while (served < kMostMessages || std::ranges::any_of(guests_, has_kept)) {
    served++;
    size_t before = guests_.size();
    if (pollfd wait{listener_.get(), POLLIN, 0}; ::poll(&wait, 1, 0) > 0) accept_guest();
    bool any = guests_.size() != before;
    // By index: serving one guest may end another.
    for (size_t i = 0; i < guests_.size(); i++) {
      if (take_message(*guests_[i])) {
        any = true;
        served++;
      }
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
  if (!reader(protocol, resolves, describes, watches) || protocol != kGuestProtocol || guest.client) {
    return failed(guest, {fmt::format("the spile that traces it (process {}) is of another version", getpid()), ""});
  }
  guest.client = &service_.add_guest();
  if (resolves) {
    guest.client->resolve_module = [this, &guest](pid_t pid, const Module& module) {
      std::vector<SiteRequest> sites;
      MessageWriter question;
      question(pid, module);
      if (auto answer = ask(guest, GuestMessage::kResolve, question, GuestMessage::kResolved)) {
        auto sound = [&](const SiteRequest& site) { return is_sound(site, guest.client->image); };
        if (!MessageReader(answer->bytes)(sites) || !std::ranges::all_of(sites, sound)) {
          sites.clear();
          guest.channel.close();
        }
      }
      return sites;
    };
  }
  if (describes) {
    guest.client->describe_modules = [this, &guest](pid_t pid, std::span<const Module> modules) {
      uint64_t map = 0;
      MessageWriter question;
      question(pid, std::vector<Module>(modules.begin(), modules.end()));
      if (auto answer = ask(guest, GuestMessage::kDescribe, question, GuestMessage::kDescribed)) {
        MessageReader(answer->bytes)(map);
      }
      return map;
    };
  }
  if (watches) {
    guest.client->watch_threads = [this, &guest](const ThreadChange& change) {
      MessageWriter what;
      what(change);
      (void)ask(guest, GuestMessage::kChange, what, GuestMessage::kSeen);
    };
  }
  done(guest);
}

void GuestHost::handle(Guest& guest, ReceivedMessage message) {
  MessageReader reader(message.bytes);
  if (message.type == GuestMessage::kHello) return handle_hello(guest, reader);
  // Malformed messages are not answered.
  if (!guest.client) return guest.channel.close();
  Client& client = *guest.client;
  MessageWriter answer;
  switch (message.type) {
    case GuestMessage::kImage: {
      ArenaGeometry geometry;
      abi::CodeImage image;
      if (!reader(image, geometry) || client.arena_fd || !is_sound(image) || !is_sound(geometry) ||
          !is_arena(message.descriptor.get(), geometry.size)) {
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
      if (!reader(pid)) return guest.channel.close();
      if (!guest.peer.may_trace(pid)) {
        return failed(guest,
                      {fmt::format("process {} may not trace process {} itself", guest.peer.pid(), pid), "run it as root"});
      }
      auto followed = service_.follow(client, pid);
      if (!followed.ok()) return failed(guest, followed.error());
      answer(*followed);
      return done(guest, answer);
    }
    case GuestMessage::kArm: {
      std::vector<SiteRequest> sites;
      auto sound = [&](const SiteRequest& site) { return is_sound(site, client.image); };
      if (!reader(sites) || !std::ranges::all_of(sites, sound)) return guest.channel.close();
      auto report = service_.arm_for(client, sites);
      if (!report.ok()) return failed(guest, report.error());
      answer(*report);
      return done(guest, answer);
    }
    case GuestMessage::kSwitch: {
      std::vector<uint32_t> ids;
      bool on = false;
      if (!reader(ids, on)) return guest.channel.close();
      return service_.switch_for(client, ids, on);
    }
    case GuestMessage::kLeave: {
      guest.client = nullptr;
      auto dropped = service_.drop_guest(client);
      if (!dropped.ok()) return failed(guest, dropped.error());
      return done(guest);
    }
    default: return guest.channel.close();
  }
}

std::optional<ReceivedMessage> GuestHost::ask(Guest& guest, GuestMessage question, const MessageWriter& what,
                                              GuestMessage answer) {
  if (!guest.channel.send(question, what.bytes())) return {};
  auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kGuestPatienceMs);
  while (true) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0 || !guest.channel.is_readable(static_cast<int>(left))) {
      guest.channel.close();  // and dropped, when next we serve
      return {};
    }
    auto message = guest.channel.receive();
    if (!message || message->type == answer) return message;
    if (guest.inbox.size() == kMostInbox) guest.channel.close();
    guest.inbox.push_back(std::move(*message));
  }
}

void GuestHost::report(const Client& client, const Event& event) {
  MessageWriter writer;
  writer(event);
  for (auto& guest : guests_) {
    if (guest->client == &client) guest->channel.send(GuestMessage::kEvent, writer.bytes());
  }
}

void GuestHost::announce_ending() {
  MessageWriter writer;
  writer(std::chrono::steady_clock::now());
  for (auto& guest : guests_) {
    if (guest->client) guest->channel.send(GuestMessage::kEnding, writer.bytes());
  }
}

}  // namespace spile::engine
