#pragma once
// The backend of a guest: has another spile, which traces the processes, arm probes there for this one (guest_host.h). Belongs to
// the engine's thread. Functions that ask wait for the answer for up to 120 s, and answer questions of the host meanwhile by
// calling EngineOptions' functions. If the host does not answer, they fail, and is_lost() is true from then on.

#include <chrono>
#include <memory>
#include <optional>
#include <set>

#include "engine/share/guest_channel.h"
#include "engine/share/guest_fields.h"
#include "engine/terms/backend.h"

namespace spile::engine {

class GuestBackend final : public Backend {
 public:
  using Clock = std::chrono::steady_clock;
  // options: outlives this. channel: to the thread `tracer`, which TracerPid names.
  GuestBackend(const EngineOptions& options, pid_t tracer, GuestChannel channel)
      : options_(options), tracer_(tracer), channel_(std::move(channel)) {}
  // Introduces this spile to the tracer, before anything else. An error: the tracer does not serve us.
  Result<void> introduce();

  Result<void> use_image(const abi::CodeImage& image, const ArenaGeometry& geometry, UniqueFd arena, UniqueFd shared) override;
  Result<void> attach(pid_t pid) override;
  Descendants attach_descendants() override;
  std::vector<pid_t> processes() const override { return {processes_.begin(), processes_.end()}; }
  Result<std::vector<Module>> modules(pid_t pid) override;
  Result<ArmReport> arm(std::span<const SiteRequest> sites) override;
  void switch_sites(std::span<const uint32_t> site_ids, bool on) override;
  // Has the host forget this guest. No other question may follow.
  Result<void> disarm() override;
  Result<void> detach() override { return disarm(); }
  int wait_fd() const override { return channel_.fd(); }
  Result<std::vector<Event>> poll(int timeout_ms) override;

  // Returns whether the tracing spile has ended, or has dropped us.
  bool is_lost() const { return !channel_.is_open(); }
  pid_t tracer() const { return tracer_; }
  // Returns since when it has been taking all probes out. Empty: it was killed, or is not ending.
  std::optional<Clock::time_point> ending_since() const { return ending_since_; }

 private:
  // Sends a question, and returns the fields of its answer. descriptor: sent with it, stays the caller's; -1: none.
  Result<std::string> ask(GuestMessage question, const MessageWriter& what, int descriptor = -1);
  void take(ReceivedMessage message);
  void take_event(Event event);
  // Asks the kernel whether the tracer traces the process: its claims about other processes are not believed.
  bool is_traced_there(pid_t pid) const;

  const EngineOptions& options_;
  pid_t tracer_;
  GuestChannel channel_;
  std::set<pid_t> processes_;
  std::vector<Event> events_;
  std::optional<Clock::time_point> ending_since_;
};

}  // namespace spile::engine
