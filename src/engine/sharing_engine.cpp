// The Engine: decides which backend reaches the processes: this spile's own, which traces them, or, for a process that another
// spile traces, that of a guest.

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "engine/arch/architecture.h"
#include "engine/engine.h"
#include "engine/process/frozen.h"
#include "engine/share/guest_backend.h"
#include "engine/space/arena_hold.h"
#include "engine/space/region.h"
#include "engine/trace/tracer.h"
#include "engine/tracing_backend.h"

namespace spile::engine {

bool jumps_to(std::span<const uint8_t> code, FileAddress at, FileAddress target) {
  return native_architecture().jumps_to(code, Address(at.value), Address(target.value));
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTransferLimitMs = 10'000;
constexpr auto kTakeOverLimit = std::chrono::seconds(10);

// Returns one more descriptor of the file behind `fd`, which programs that are started do not inherit; none if `fd` is none.
UniqueFd another(int fd) { return UniqueFd(fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

class SharingEngine final : public Engine {
 public:
  explicit SharingEngine(EngineOptions options) : options_(std::move(options)) {}
  ~SharingEngine() override {
    if (own_) (void)detach();
    own_.reset();
    if (arena_ && !memory_.place) munmap(arena_, geometry_.size);
  }
  Result<void> start() {
    TRY(own_, TracingBackend::create(options_));
    return {};
  }

  Result<void> set_image(abi::CodeImage image, const ArenaGeometry& geometry, const ArenaMemory& memory) override;
  std::span<uint8_t> arena() override { return {arena_, arena_ ? geometry_.size : 0}; }
  int arena_fd() const override { return arena_fd_.get(); }
  Result<pid_t> launch(const LaunchOptions& options) override {
    TRY_DO(give_image());
    return own_->launch(options);
  }
  Result<void> execute() override { return own_->execute(); }
  Result<void> attach(pid_t pid) override;
  Descendants attach_descendants() override { return backend().attach_descendants(); }
  void resume_all() override { own_->resume_all(); }
  std::vector<pid_t> processes() const override { return backend().processes(); }
  Result<std::vector<Module>> modules(pid_t pid) override { return backend().modules(pid); }
  std::vector<pid_t> frozen() const override {
    std::vector<pid_t> pids = processes();
    std::erase_if(pids, [](pid_t pid) { return !is_frozen(pid); });
    return pids;
  }
  Result<ArmReport> arm(std::span<const SiteRequest> sites) override;
  void probe_system_calls(const SystemCallHandlers& handlers) override { own_->probe_system_calls(handlers); }
  void switch_sites(std::span<const uint32_t> site_ids, bool on) override;
  Result<void> disarm() override;
  Result<void> suspend() override;
  Result<void> resume() override;
  Result<void> detach() override;
  int wait_fd() const override { return both_ ? both_.get() : own_->wait_fd(); }
  Result<std::vector<Event>> poll(int timeout_ms) override;

 private:
  Backend& backend() { return guest_ ? static_cast<Backend&>(*guest_) : *own_; }
  const Backend& backend() const { return guest_ ? static_cast<const Backend&>(*guest_) : *own_; }
  Result<void> give_image();
  Result<void> attach_with(pid_t pid, pid_t tracer, bool& is_over);
  Result<void> be_guest(pid_t pid, pid_t tracer, GuestChannel channel, bool& is_over);
  Result<void> go_on(pid_t pid);
  Result<void> hold_arena();
  void give_up_arena();
  Result<void> arm_again();
  Result<void> leave_tracer();
  void take_over(std::vector<Event>& events);
  void rejoin(pid_t pid);

  EngineOptions options_;
  abi::CodeImage image_;
  ArenaGeometry geometry_;
  ArenaMemory memory_;
  UniqueFd arena_fd_;
  uint8_t* arena_ = nullptr;
  bool is_held_ = false;
  ArenaHold hold_;                     // by this process, while no other one traces for it
  std::vector<SiteRequest> requests_;  // all that were made
  std::set<uint32_t> switched_off_;

  std::unique_ptr<TracingBackend> own_;
  bool own_has_image_ = false;
  std::unique_ptr<GuestBackend> guest_;
  UniqueFd both_;                        // readable when either backend is; while there is a guest's
  std::map<pid_t, uint64_t> suspended_;  // processes, and when each had started (a number may be another process's later)
  std::set<pid_t> untraced_;             // children of theirs then that were not traced
  std::vector<Event> pending_;           // reported by the next poll()
};

Result<void> SharingEngine::set_image(abi::CodeImage image, const ArenaGeometry& geometry, const ArenaMemory& memory) {
  CHECK(arena_ == nullptr);
  CHECK(geometry.shared_size == 0 || memory.shared_fd >= 0);
  memory_ = memory;
  geometry_ = geometry;
  geometry_.size = (geometry.size + 4095) / 4096 * 4096;
  TRY(arena_fd_, create_memory(kArenaName, geometry_.size, false));
  void* view =
      mmap(memory.place, geometry_.size, PROT_READ | PROT_WRITE, MAP_SHARED | (memory.place ? MAP_FIXED : 0), arena_fd_.get(), 0);
  if (view == MAP_FAILED) return Error::from_errno("map the arena", errno);
  arena_ = static_cast<uint8_t*>(view);
  image_ = std::move(image);
  return hold_arena();
}

Result<void> SharingEngine::give_image() {
  if (!arena_ || std::exchange(own_has_image_, true)) return {};
  return own_->use_image(image_, geometry_, another(arena_fd_.get()), another(memory_.shared_fd));
}

// --- A process that another spile traces ---

// Tracers may begin and end meanwhile: an attempt that fails because of that is made again.
Result<void> SharingEngine::attach(pid_t pid) {
  auto deadline = Clock::now() + kTakeOverLimit;
  for (;;) {
    pid_t tracer = tracer_of(pid);
    bool is_over = false;
    auto attached = attach_with(pid, tracer, is_over);
    if (attached.ok() || Clock::now() > deadline) return attached;
    pid_t tracer_now = tracer_of(pid);
    // A process that sleeps uninterruptibly can't be let go again before it wakes.
    bool is_ours = tracer_now == gettid();
    if (is_ours || (!is_over && tracer_now == tracer)) return attached;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// is_over: becomes true if it failed because the tracer was ending.
Result<void> SharingEngine::attach_with(pid_t pid, pid_t tracer, bool& is_over) {
  if (guest_ && tracer == guest_->tracer()) return guest_->attach(pid);
  if (guest_) {
    return Error{fmt::format("attach {}: another spile (process {}) traces {}, and not this one", pid, guest_->tracer(),
                             guest_->processes().empty() ? 0 : guest_->processes().front()),
                 "end the other one first, or run a spile for each"};
  }
  if (tracer != 0 && std::to_string(getpid()) != process_status(tracer, "Tgid")) {
    auto channel = connect_to_tracer(tracer, kTransferLimitMs);
    if (channel.ok() && channel->is_open()) return be_guest(pid, tracer, std::move(channel).value(), is_over);
    is_over = is_ending(tracer);
    if (!channel.ok() && !is_over) return std::move(channel).error().within(fmt::format("attach {}", pid));
  }
  TRY_DO(give_image());
  return own_->attach(pid);
}

Result<void> SharingEngine::be_guest(pid_t pid, pid_t tracer, GuestChannel channel, bool& is_over) {
  std::string what = fmt::format("attach {}", pid);
  bool was_held = is_held_;
  if (options_.watch_system_calls) {
    return Error{
        fmt::format("{}: another spile (process {}) traces it, and system calls are reported to that one only", what, tracer),
        "leave out process.syscall, or end the other one first"};
  }
  if (geometry_.shared_size > 0) {
    return Error{
        fmt::format(
            "{}: another spile (process {}) traces it, and handlers of this script share globals with handlers in the kernel",
            what, tracer),
        "end the other one first, or give --runtime=bpf, which runs all of this script in the kernel"};
  }
  if (!own_->processes().empty()) {
    return Error{fmt::format("{}: another spile (process {}) traces it, and this spile traces other processes", what, tracer),
                 ""};
  }
  guest_ = std::make_unique<GuestBackend>(options_, tracer, std::move(channel));
  both_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  for (int fd : {guest_->wait_fd(), own_->wait_fd()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    epoll_ctl(both_.get(), EPOLL_CTL_ADD, fd, &event);
  }
  auto begin = [&]() -> Result<void> {
    TRY_DO(guest_->introduce());
    if (arena_ && is_held_) give_up_arena();
    if (arena_) TRY_DO(guest_->use_image(image_, geometry_, another(arena_fd_.get()), {}));
    return guest_->attach(pid);
  };
  auto begun = begin();
  if (begun.ok()) return {};
  is_over = guest_->is_lost();
  guest_.reset();
  both_ = UniqueFd();
  if (was_held) TRY_DO(hold_arena());
  return std::move(begun).error().within(what);
}

Result<ArmReport> SharingEngine::arm(std::span<const SiteRequest> sites) {
  if (!arena_) return Error{"arm: no image was set", ""};
  TRY_DO(give_image());
  requests_.insert(requests_.end(), sites.begin(), sites.end());
  for (SiteRequest& request : requests_) {
    if (switched_off_.contains(request.site_id)) request.enabled = false;
  }
  return backend().arm(sites);
}

void SharingEngine::switch_sites(std::span<const uint32_t> site_ids, bool on) {
  for (uint32_t id : site_ids) {
    if (on) switched_off_.erase(id);
    else switched_off_.insert(id);
  }
  backend().switch_sites(site_ids, on);
}

Result<void> SharingEngine::hold_arena() {
  if (!arena_ || is_held_) return {};
  TRY(hold_, ArenaHold::take(arena_fd_.get()));
  is_held_ = true;
  return {};
}

void SharingEngine::give_up_arena() {
  hold_ = ArenaHold();
  is_held_ = false;
}

// Gives the backend that has the processes now what the other one had.
Result<void> SharingEngine::arm_again() {
  if (requests_.empty()) return {};
  TRY_DO(backend().arm(requests_));
  std::vector<uint32_t> off(switched_off_.begin(), switched_off_.end());
  backend().switch_sites(off, false);
  return {};
}

// After the host has left: the guest that attaches first traces the process, and the others become its guests.
Result<void> SharingEngine::go_on(pid_t pid) {
  auto deadline = Clock::now() + kTakeOverLimit;
  for (;;) {
    Result<void> attached = guest_ ? guest_->attach(pid) : attach(pid);
    if (attached.ok() || Clock::now() > deadline || has_ended(pid)) return attached;
    // The former tracer is letting go, or the next one is not ready to serve.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void SharingEngine::take_over(std::vector<Event>& events) {
  // Handlers of a tracer that was killed go on until its successor cleans up.
  auto start = guest_->ending_since().value_or(Clock::now());
  pid_t former = guest_->tracer();
  std::vector<pid_t> followed = guest_->processes();
  guest_.reset();
  both_ = UniqueFd();
  auto trouble = [&](pid_t pid, std::string message) {
    events.push_back({.kind = Event::Kind::kTrouble, .pid = pid, .message = std::move(message)});
  };
  for (pid_t pid : followed) {
    auto attached = go_on(pid);
    if (attached.ok()) continue;
    if (has_ended(pid)) {
      events.push_back({.kind = Event::Kind::kProcessExited, .pid = pid});
    } else {
      trouble(pid, attached.error().message);
    }
  }
  if (backend().processes().empty()) return;
  // Not earlier: handlers that the former tracer has left would run, and their faults would not be caught.
  auto armed = guest_ ? Result<void>() : hold_arena();
  if (armed.ok()) armed = arm_again();
  auto milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  for (pid_t pid : backend().processes()) {
    if (!armed.ok()) {
      trouble(pid, armed.error().message);
      continue;
    }
    trouble(pid, fmt::format(
                     "the spile that traced it (process {}) has ended; hits may have been missed for {:.0f} ms, until the probes "
                     "were in place again",
                     former, milliseconds));
  }
}

// --- All backends ---

// Has the tracer take our probes out. If it has just ended without doing that, traces the processes itself and takes them out.
Result<void> SharingEngine::leave_tracer() {
  std::vector<pid_t> followed = guest_->processes();
  auto left = guest_->disarm();
  if (left.ok() || !guest_->is_lost()) return left;
  guest_.reset();
  both_ = UniqueFd();
  for (pid_t pid : followed) {
    auto attached = go_on(pid);
    if (!attached.ok() && !has_ended(pid)) return attached;
  }
  return backend().disarm();
}

Result<void> SharingEngine::disarm() {
  requests_.clear();
  return guest_ ? leave_tracer() : own_->disarm();
}

Result<void> SharingEngine::detach() {
  requests_.clear();
  Result<void> left;
  if (guest_) left = leave_tracer();
  guest_.reset();
  both_ = UniqueFd();
  auto detached = own_->detach();
  return left.ok() ? std::move(detached) : std::move(left);
}

// --- While this process stands still ---

Result<void> SharingEngine::suspend() {
  untraced_.clear();
  for (pid_t pid : processes()) suspended_[pid] = start_time(pid);
  for (auto& [pid, time] : suspended_) {
    for (pid_t child : children_of(pid)) {
      if (!suspended_.contains(child)) untraced_.insert(child);
    }
  }
  if (!guest_) return own_->suspend();
  auto left = leave_tracer();
  guest_.reset();
  both_ = UniqueFd();
  auto suspended = own_->suspend();
  return left.ok() ? std::move(suspended) : std::move(left);
}

// Attaches to the process again, and to children that it has got meanwhile.
void SharingEngine::rejoin(pid_t pid) {
  auto attached = guest_ ? guest_->attach(pid) : attach(pid);
  if (!attached.ok()) {
    if (!has_ended(pid)) pending_.push_back({.kind = Event::Kind::kTrouble, .pid = pid, .message = attached.error().message});
    return;
  }
  for (pid_t child : children_of(pid)) {
    std::vector<pid_t> known = processes();
    bool is_known =
        suspended_.contains(child) || untraced_.contains(child) || std::find(known.begin(), known.end(), child) != known.end();
    if (is_known) continue;
    pending_.push_back({.kind = Event::Kind::kProcessStarted, .pid = child, .parent = pid});
    rejoin(child);
  }
}

Result<void> SharingEngine::resume() {
  std::map<pid_t, uint64_t> suspended = suspended_;
  for (auto& [pid, time] : suspended) {
    std::vector<pid_t> known = processes();
    if (std::find(known.begin(), known.end(), pid) != known.end()) continue;  // it could not be let go
    bool is_child = process_status(pid, "PPid") == std::to_string(getpid());
    if (start_time(pid) == time && !has_ended(pid)) rejoin(pid);
    else if (!is_child) pending_.push_back({.kind = Event::Kind::kProcessExited, .pid = pid});
  }
  suspended_.clear();
  Result<void> resumed;
  if (!processes().empty()) {
    if (!guest_) resumed = hold_arena();
    if (resumed.ok()) resumed = arm_again();
  }
  // Sites were reported when they were armed for the first time.
  TRY(std::vector<Event> events, poll(0));
  std::erase_if(events, [](const Event& event) { return event.kind == Event::Kind::kArmed; });
  pending_ = std::move(events);
  return resumed;
}

Result<std::vector<Event>> SharingEngine::poll(int timeout_ms) {
  if (!pending_.empty()) {
    std::vector<Event> pending = std::exchange(pending_, {});
    TRY(std::vector<Event> events, poll(0));
    pending.insert(pending.end(), std::make_move_iterator(events.begin()), std::make_move_iterator(events.end()));
    return pending;
  }
  if (!guest_) return own_->poll(timeout_ms);
  TRY(std::vector<Event> events, guest_->poll(0));
  // This process may have children that the engine has not launched, and which end.
  TRY(std::vector<Event> others, own_->poll(0));
  events.insert(events.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
  if (guest_->is_lost()) take_over(events);
  if (!events.empty() || timeout_ms == 0 || !guest_) return events;
  epoll_event ready;
  if (epoll_wait(both_.get(), &ready, 1, timeout_ms) <= 0) return events;
  return poll(0);
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::create(EngineOptions options) {
  auto engine = std::make_unique<SharingEngine>(std::move(options));
  TRY_DO(engine->start());
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace spile::engine
