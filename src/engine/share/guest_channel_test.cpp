#include "engine/share/guest_channel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

#include "engine/share/guest_fields.h"
#include "engine/share/guest_host.h"
#include "engine/share/peer.h"
#include "engine/space/region.h"
#include "engine/trace/descriptor_channel.h"

namespace spile::engine {
namespace {

struct Ends {
  UniqueFd other;
  GuestChannel channel;
  explicit Ends(int limit_ms = 200) {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    other = UniqueFd(fds[0]);
    channel = GuestChannel(UniqueFd(fds[1]), limit_ms);
  }
  void put(const void* bytes, size_t size) {
    EXPECT_EQ(::send(other.get(), bytes, size, MSG_NOSIGNAL), static_cast<ssize_t>(size));
  }
};

struct RawHeader {
  uint32_t type, has_descriptor;
  uint64_t size;
};

size_t open_descriptors() {
  return static_cast<size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator()));
}

TEST(GuestChannel, ClosesAtSizesAndKindsThatAreNone) {
  for (RawHeader header : {RawHeader{0, 0, UINT64_MAX}, RawHeader{0, 0, uint64_t{1} << 40}, RawHeader{17000, 0, 0}}) {
    Ends ends;
    ends.put(&header, sizeof header);
    EXPECT_FALSE(ends.channel.receive());
    EXPECT_FALSE(ends.channel.is_open());
  }
}

// A byte comes now and then, each in time, and the last ten never.
TEST(GuestChannel, DoesNotWaitForDribblers) {
  Ends ends(150);
  RawHeader header{0, 0, 100};
  ends.put(&header, sizeof header);
  std::atomic<bool> over = false;
  std::atomic<int> sent = 0;
  std::thread dribbler([&] {
    for (; sent < 90 && !over; sent++) {
      (void)!::send(ends.other.get(), "x", 1, MSG_NOSIGNAL);
      usleep(50'000);
    }
  });
  EXPECT_FALSE(ends.channel.receive());
  EXPECT_LT(sent, 90) << "the channel has waited for as long as bytes came";
  over = true;
  dribbler.join();
}

TEST(GuestChannel, DoesNotWaitForWhoDoesNotRead) {
  Ends ends(150);
  std::string much(8 << 20, '\0');
  EXPECT_FALSE(ends.channel.send(GuestMessage::kEvent, much));  // a channel without a limit would wait for ever
  EXPECT_FALSE(ends.channel.is_open());
}

TEST(GuestChannel, KeepsNoDescriptorTooMany) {
  Ends ends;
  UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  RawHeader header{static_cast<uint32_t>(GuestMessage::kLeave), 1, 0};
  size_t before = open_descriptors();
  for (int count : {1, 2, 5}) {
    std::vector<int> fds(static_cast<size_t>(count), null.get());
    std::vector<char> control(CMSG_SPACE(fds.size() * sizeof(int)));
    iovec vector{&header, sizeof header};
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    memcpy(CMSG_DATA(rights), fds.data(), fds.size() * sizeof(int));
    ASSERT_EQ(sendmsg(ends.other.get(), &message, 0), static_cast<ssize_t>(sizeof header));
    auto received = ends.channel.receive();
    ASSERT_TRUE(received);
    EXPECT_TRUE(received->descriptor);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(MessageReader, RefusesWhatIsNotThere) {
  MessageWriter writer;
  writer(uint8_t{2});
  bool truth = true;
  EXPECT_FALSE(MessageReader(writer.bytes())(truth));
  MessageWriter kinds;
  kinds(int32_t{77});
  Event::Kind kind{};
  EXPECT_FALSE(MessageReader(kinds.bytes())(kind));
  MessageWriter negative;
  negative(int32_t{-1});
  Event::Kind event{};
  EXPECT_FALSE(MessageReader(negative.bytes())(event));
  MessageWriter counts;
  counts(uint64_t{1} << 40, uint64_t{5});
  std::vector<SiteRequest> sites;
  EXPECT_FALSE(MessageReader(counts.bytes())(sites));
  EXPECT_TRUE(sites.empty());
}

TEST(MessageReader, TakesEventsOfEveryKind) {
  for (int kind = 0; kind <= static_cast<int>(Event::Kind::kReleased); kind++) {
    MessageWriter writer;
    writer(Event{.kind = static_cast<Event::Kind>(kind), .pid = 4711, .message = "gdb"});
    Event event{};
    EXPECT_TRUE(MessageReader(writer.bytes())(event)) << kind;
    EXPECT_EQ(static_cast<int>(event.kind), kind);
  }
}

TEST(MessageReader, RefusesProbesThatOnlyTheEngineMakes) {
  SiteRequest site, read;
  site.probe = FunctionEndsProbe{.before_return = 1, .before_transfer = 2};
  MessageWriter client;
  client(site);
  ASSERT_TRUE(MessageReader(client.bytes())(read));
  EXPECT_EQ(std::get<FunctionEndsProbe>(read.probe).before_transfer, 2u);
  site.probe = SystemCallProbe{1, 2};
  MessageWriter engine;
  engine(site);
  EXPECT_FALSE(MessageReader(engine.bytes())(read));
}

// Random bytes, and true messages with some bytes changed or missing, of all shapes.
// It only asserts that the reader does not crash (and that sanitizers report nothing): whatever it makes of such bytes is right.
TEST(MessageReader, DoesNotCrashOnRandomBytes) {
  std::mt19937_64 chance(4711);
  MessageWriter writer;
  SiteRequest site;
  site.module_path = "/bin/x";
  site.probe = ReturnProbe{.obstacle = "why"};
  Module module;
  module.path = "/lib/y";
  module.text = {{}, {}};
  writer(std::vector<SiteRequest>(3, site));
  writer(std::vector<Module>(2, module));
  writer(Event{.kind = Event::Kind::kArmed, .report = {.outcomes = {SiteOutcome{1, 2, Mechanism::kNop, "no"}}}});
  for (int round = 0; round < 20000; round++) {
    std::string bytes = writer.bytes();
    if (round % 3 == 0) std::ranges::generate(bytes, [&] { return static_cast<char>(chance()); });
    for (uint64_t n = chance() % 8; n > 0; n--) bytes[chance() % bytes.size()] = static_cast<char>(chance());
    bytes.resize(chance() % (bytes.size() + 1));
    std::vector<SiteRequest> sites;
    std::vector<Module> modules;
    Event event{};
    ThreadChange change{};
    abi::CodeImage image;
    ArmReport report;
    (void)MessageReader(bytes)(sites, modules, event);
    (void)MessageReader(bytes)(modules);
    (void)MessageReader(bytes)(event, change);
    (void)MessageReader(bytes)(image);
    (void)MessageReader(bytes)(report);
  }
}

// Nothing that a guest sends makes the host do more than say no.
class NoService final : public GuestService {
 public:
  Client& add_guest() override { return *clients.emplace_back(std::make_unique<Client>()); }
  Result<std::vector<pid_t>> follow(Client&, pid_t pid) override {
    followed.push_back(pid);
    return std::vector<pid_t>{pid};
  }
  Result<ArmReport> arm_for(Client&, std::span<const SiteRequest>) override { return ArmReport{}; }
  void switch_for(Client&, std::span<const uint32_t>, bool) override {}
  Result<void> drop_guest(Client&) override { return {}; }
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<pid_t> followed;
};

TEST(GuestHost, ServesOnThroughRandomMessages) {
  NoService service;
  auto host = GuestHost::start(service);
  if (!host.ok()) GTEST_SKIP() << host.error().message;
  std::mt19937_64 chance(1234);
  for (int round = 0; round < 300; round++) {
    auto connected = connect_to_tracer(gettid(), 100);
    ASSERT_TRUE(connected.ok() && connected->is_open());
    GuestChannel guest = std::move(connected).value();
    MessageWriter hello;
    hello(kGuestProtocol, false, false, false);
    if (chance() % 4) guest.send(GuestMessage::kHello, hello.bytes());
    for (uint64_t n = chance() % 6; n > 0; n--) {
      std::string bytes(chance() % 300, '\0');
      std::ranges::generate(bytes, [&] { return chance() % 3 ? '\0' : static_cast<char>(chance()); });
      guest.send(static_cast<GuestMessage>(chance() % 20), bytes, chance() % 4 ? -1 : 0);
    }
    (*host)->serve();
  }
  (*host)->serve();
  // The empty list is sound.
  for (auto& client : service.clients) EXPECT_TRUE(client->requests.empty());
}

// Another process has names that look like the tracer's, some of which take no connection: the tracer is found all the same.
TEST(GuestHost, IsFoundBesideNamesThatOthersTook) {
  NoService service;
  auto host = GuestHost::start(service);
  if (!host.ok()) GTEST_SKIP() << host.error().message;
  int ready[2], over[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(over), 0);
  pid_t tracer = gettid();
  pid_t other = fork();
  if (other == 0) {
    ::close(over[1]);
    for (int i = 0; i < 8; i++) {
      std::string name = fmt::format("spile-engine-{}-{}", tracer, i % 2 ? "0" : "f") + std::to_string(i);
      sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
      memcpy(address.sun_path + 1, name.data(), name.size());
      auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
      int fd = socket(AF_UNIX, SOCK_STREAM, 0);
      if (bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(fd, 0) != 0) _exit(1);
      int guest = socket(AF_UNIX, SOCK_STREAM, 0);
      if (i < 4 && connect(guest, reinterpret_cast<sockaddr*>(&address), length) != 0) _exit(1);
    }
    char byte = 1;
    (void)!write(ready[1], &byte, 1);
    (void)!read(over[0], &byte, 1);
    _exit(0);
  }
  ::close(ready[1]);
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  auto found = connect_to_tracer(tracer, 2000);
  EXPECT_TRUE(found.ok() && found->is_open());
  // A process that is not a spile has no name of its own, but other processes may take busy ones for it.
  auto none = connect_to_tracer(other, 100);
  EXPECT_TRUE(none.ok() && !none->is_open());
  ::close(over[1]);
  int status = 0;
  waitpid(other, &status, 0);
  EXPECT_EQ(status, 0);
  for (int fd : {ready[0], over[0]}) ::close(fd);
}

TEST(GuestHost, TakesNoArenaThatCanShrinkNorGeometryThatDoesNotFit) {
  NoService service;
  auto host = GuestHost::start(service);
  if (!host.ok()) GTEST_SKIP() << host.error().message;
  UniqueFd sealed = create_memory("spile-arena", 1 << 20, false).value();
  UniqueFd loose(memfd_create("spile-arena", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(loose.get(), 1 << 20), 0);
  UniqueFd device(open("/dev/zero", O_RDWR | O_CLOEXEC));
  abi::CodeImage image;
  image.bytes.resize(4096);
  image.code_begin = 128;
  image.code_end = 4096;
  ArenaGeometry good{.size = 1 << 20, .slots_offset = 4096, .slot_stride = 8192, .slot_count = 2};
  auto accepts = [&](const abi::CodeImage& code, const ArenaGeometry& geometry, int fd) {
    GuestChannel guest = connect_to_tracer(gettid(), 100).value();
    MessageWriter hello, what;
    hello(kGuestProtocol, false, false, false);
    what(code, geometry);
    guest.send(GuestMessage::kHello, hello.bytes());
    guest.send(GuestMessage::kImage, what.bytes(), fd);
    (*host)->serve();
    auto first = guest.receive(), second = guest.receive();
    return second && second->type == GuestMessage::kDone;
  };
  EXPECT_TRUE(accepts(image, good, sealed.get()));
  EXPECT_FALSE(accepts(image, good, loose.get()));
  EXPECT_FALSE(accepts(image, good, device.get()));
  EXPECT_FALSE(accepts(image, good, -1));
  EXPECT_FALSE(accepts({}, good, sealed.get()));
  for (auto change : std::vector<std::function<void(ArenaGeometry&)>>{
           [](ArenaGeometry& g) { g.size = 2 << 20; }, [](ArenaGeometry& g) { g.slot_count = UINT32_MAX; },
           [](ArenaGeometry& g) { g.slots_offset = UINT64_MAX; }, [](ArenaGeometry& g) { g.slot_stride = 0; },
           [](ArenaGeometry& g) { g.shadow_capacity = 1 << 30, g.shadow_stride = 32; }}) {
    ArenaGeometry bad = good;
    change(bad);
    EXPECT_FALSE(accepts(image, bad, sealed.get()));
  }
  abi::CodeImage stray = image;
  stray.fixups = {{UINT32_MAX, 0}};
  EXPECT_FALSE(accepts(stray, good, sealed.get()));
}

// Another user's process on the socket of a tracer.
TEST(Peer, IsOursOnlyIfItIsOursOrRoots) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  int fds[2];
  auto peer_as = [&](uid_t user) {
    EXPECT_EQ(setegid(user), 0);
    EXPECT_EQ(seteuid(user), 0);
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    EXPECT_EQ(seteuid(0), 0);
    EXPECT_EQ(setegid(0), 0);
    UniqueFd one(fds[0]), other(fds[1]);
    return Peer::of(one.get()).value();
  };
  EXPECT_TRUE(peer_as(0).is_ours());
  Peer nobody = peer_as(65534);
  EXPECT_EQ(nobody.uid(), 65534u);
  EXPECT_FALSE(nobody.is_ours());
}

TEST(Peer, MayTraceWhatItCouldTraceItself) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;  // and no path: the kernel gives it a name
  UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address.sun_family), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  socklen_t size = sizeof address;
  ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  pid_t child = fork();
  if (child == 0) {
    if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0) _exit(1);
    prctl(PR_SET_DUMPABLE, 1);
    int own = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(own, reinterpret_cast<sockaddr*>(&address), size) != 0) _exit(1);
    for (;;) pause();
  }
  UniqueFd accepted(accept(listener.get(), nullptr, nullptr));
  Peer peer = Peer::of(accepted.get()).value();
  EXPECT_EQ(peer.pid(), child);
  EXPECT_FALSE(peer.is_ours());
  EXPECT_FALSE(peer.may_trace(getpid())) << "root's";
  EXPECT_FALSE(peer.may_trace(1));
  if (access("/proc/sys/kernel/yama/ptrace_scope", F_OK) != 0) EXPECT_TRUE(peer.may_trace(child)) << "its own";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace spile::engine
