#pragma once
// What an Engine (engine.h) is made of: one that traces, and, while another spile traces the process that was asked for,
// one that has it do the work. The functions are those of Engine.

#include "base/unique_fd.h"
#include "engine/engine.h"

namespace spile::engine {

class EnginePart {
 public:
  virtual ~EnginePart() = default;
  // arena: of the geometry's size.
  virtual Result<void> use_image(const abi::CodeImage& image, const ArenaGeometry& geometry, UniqueFd arena) = 0;
  virtual Result<void> attach(pid_t pid) = 0;
  virtual Descendants attach_descendants() = 0;
  virtual std::vector<pid_t> processes() const = 0;
  virtual Result<std::vector<Module>> modules(pid_t pid) = 0;
  virtual Result<ArmReport> arm(std::span<const SiteRequest> sites) = 0;
  virtual void switch_sites(std::span<const uint32_t> site_ids, bool on) = 0;
  virtual Result<void> disarm() = 0;
  virtual Result<void> detach() = 0;
  virtual int wait_fd() const = 0;
  virtual Result<std::vector<Event>> poll(int timeout_ms) = 0;
};

// The part that traces; it serves guests.
class TracingPart : public EnginePart {
 public:
  static Result<std::unique_ptr<TracingPart>> create(const EngineOptions& options);
  virtual Result<pid_t> launch(const LaunchOptions& options) = 0;
  virtual void resume_all() = 0;
  // As detach(), but what is to be armed in modules that come later stays known. An error: see Engine::suspend.
  virtual Result<void> suspend() = 0;
  virtual void probe_system_calls(const SystemCallHandlers& handlers) = 0;
};

}  // namespace spile::engine
