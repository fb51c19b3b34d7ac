#include "engine/share/guest_backend.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/process/descendants.h"
#include "engine/process/memory_map.h"
#include "engine/process/process_status.h"
#include "engine/process/target_memory.h"

namespace spile::engine {
namespace {

// The tracing spile may have much to do before it answers.
constexpr auto kAnswerLimit = std::chrono::seconds(120);
constexpr size_t kMostPolled = 1000;  // messages at once, so that we get our turn again

// For messages, which end on a terminal.
std::string printable(std::string text) {
  for (char& letter : text) {
    if (static_cast<unsigned char>(letter) < ' ' || letter == 0x7f) letter = '?';
  }
  return text;
}

}  // namespace

Result<void> GuestBackend::introduce() {
  MessageWriter hello;
  hello(kGuestProtocol, static_cast<bool>(options_.events.resolve_module), static_cast<bool>(options_.events.describe_modules),
        static_cast<bool>(options_.events.watch_threads));
  TRY_DO(ask(GuestMessage::kHello, hello));
  return {};
}

Result<std::string> GuestBackend::ask(GuestMessage question, const MessageWriter& what, int descriptor) {
  bool sent = channel_.send(question, what.bytes(), descriptor);
  auto deadline = Clock::now() + kAnswerLimit;
  auto left = [&] { return std::max<int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count()); };
  while (sent && channel_.is_readable(static_cast<int>(left()))) {
    auto message = channel_.receive();
    if (!message) break;
    if (message->type == GuestMessage::kDone) return std::move(message->bytes);
    if (message->type == GuestMessage::kFailed) {
      Error error;
      MessageReader(message->bytes)(error.message, error.hint);
      error.message = printable(error.message);
      error.hint = printable(error.hint);
      return error;
    }
    take(std::move(*message));
  }
  channel_.close();
  return Error{fmt::format("the spile that traces it (process {}) does not answer", tracer_), ""};
}

bool GuestBackend::is_traced_there(pid_t pid) const { return process_status(pid, "TracerPid") == std::to_string(tracer_); }

void GuestBackend::take_event(Event event) {
  bool known = processes_.contains(event.pid), there = is_traced_there(event.pid);
  bool gone = process_status(event.pid, "State").empty();
  switch (event.kind) {
    case Event::Kind::kProcessStarted:
      if (!there && !gone) return;
      if (there) processes_.insert(event.pid);
      break;
    case Event::Kind::kProcessExited:
      if (!known && !gone) return;
      processes_.erase(event.pid);
      break;
    case Event::Kind::kReleased:
      if (!known) return;
      processes_.erase(event.pid);
      break;
    case Event::Kind::kOtherExited: return;
    default:
      if (!known) return;
  }
  event.path = printable(event.path);
  event.message = printable(event.message);
  for (SiteOutcome& outcome : event.report.outcomes) outcome.reason = printable(outcome.reason);
  events_.push_back(std::move(event));
}

// Takes a message that is not an answer.
void GuestBackend::take(ReceivedMessage message) {
  MessageReader reader(message.bytes);
  MessageWriter answer;
  pid_t pid = 0;
  if (message.type == GuestMessage::kEvent) {
    Event event{};
    if (!reader(event)) return channel_.close();
    take_event(std::move(event));
  } else if (message.type == GuestMessage::kResolve) {
    Module module;
    if (!reader(pid, module) || !options_.events.resolve_module || !is_traced_there(pid)) return channel_.close();
    answer(options_.events.resolve_module(pid, module));
    channel_.send(GuestMessage::kResolved, answer.bytes());
  } else if (message.type == GuestMessage::kDescribe) {
    std::vector<Module> modules;
    if (!reader(pid, modules) || !options_.events.describe_modules || !is_traced_there(pid)) return channel_.close();
    answer(options_.events.describe_modules(pid, modules));
    channel_.send(GuestMessage::kDescribed, answer.bytes());
  } else if (message.type == GuestMessage::kEnding) {
    Clock::time_point since;
    if (!reader(since)) return channel_.close();
    auto now = Clock::now();
    ending_since_ = std::clamp(since, now - kAnswerLimit, now);
  } else if (message.type == GuestMessage::kChange) {
    ThreadChange change;
    if (!reader(change) || !options_.events.watch_threads) return channel_.close();
    if (processes_.contains(change.pid) || is_traced_there(change.pid)) options_.events.watch_threads(change);
    channel_.send(GuestMessage::kSeen);
  } else {
    channel_.close();
  }
}

Result<void> GuestBackend::use_image(const abi::CodeImage& image, const ArenaGeometry& geometry, UniqueFd arena,
                                     UniqueFd shared) {
  CHECK(!shared);  // SharingEngine asks for none
  MessageWriter what;
  what(image, geometry);
  TRY_DO(ask(GuestMessage::kImage, what, arena.get()));
  return {};
}

Result<void> GuestBackend::attach(pid_t pid) {
  MessageWriter what;
  what(pid);
  TRY(auto answer, ask(GuestMessage::kFollow, what));
  std::vector<pid_t> followed;
  if (!MessageReader(answer)(followed)) return Error{"the tracing spile sent a malformed reply", ""};
  // Only the process that was asked for is followed, which the kernel has given to the tracer.
  if (followed != std::vector<pid_t>{pid}) return Error{"the tracing spile sent a malformed reply", ""};
  processes_.insert(pid);
  return {};
}

// The other spile traces all children of the processes that it traces, unless its user asked for none.
Descendants GuestBackend::attach_descendants() {
  return attach_to_descendants({
      .traced = [this] { return processes(); },
      .is_traced = [this](pid_t pid) { return processes_.contains(pid); },
      .attach = [this](pid_t pid) -> Result<void> {
        if (tracer_of(pid) == tracer_) return attach(pid);
        return Error{fmt::format("attach {}: the spile that traces its parent (process {}) does not trace it", pid, tracer_), ""};
      },
  });
}

Result<std::vector<Module>> GuestBackend::modules(pid_t pid) {
  if (!processes_.contains(pid)) return Error{fmt::format("process {} is not traced", pid), ""};
  TRY(TargetMemory memory, TargetMemory::open(pid));
  TRY(MemoryMap map, MemoryMap::read(pid));
  return find_modules(pid, map, memory);
}

Result<ArmReport> GuestBackend::arm(std::span<const SiteRequest> sites) {
  MessageWriter what;
  what(std::vector<SiteRequest>(sites.begin(), sites.end()));
  TRY(auto answer, ask(GuestMessage::kArm, what));
  ArmReport report;
  if (!MessageReader(answer)(report)) return Error{"the tracing spile sent a malformed reply", ""};
  for (SiteOutcome& outcome : report.outcomes) outcome.reason = printable(outcome.reason);
  return report;
}

void GuestBackend::switch_sites(std::span<const uint32_t> site_ids, bool on) {
  MessageWriter what;
  what(std::vector<uint32_t>(site_ids.begin(), site_ids.end()), on);
  channel_.send(GuestMessage::kSwitch, what.bytes());
}

Result<void> GuestBackend::disarm() {
  TRY_DO(ask(GuestMessage::kLeave, {}));
  processes_.clear();
  return {};
}

Result<std::vector<Event>> GuestBackend::poll(int timeout_ms) {
  if (!events_.empty()) timeout_ms = 0;
  for (size_t n = 0; n < kMostPolled && channel_.is_readable(timeout_ms); n++) {
    timeout_ms = 0;
    auto message = channel_.receive();
    if (!message) break;
    take(std::move(*message));
  }
  return std::exchange(events_, {});
}

}  // namespace spile::engine
