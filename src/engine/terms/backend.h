#pragma once
// What an Engine (engine.h) uses to reach processes: a backend that traces them (tracing_backend.h), or, while another spile
// traces the process that was asked for, one that has that spile arm for it (share/guest_backend.h). The
// functions are those of Engine, and belong to its thread.

#include <sys/types.h>

#include <memory>
#include <span>
#include <vector>

#include "abi/code_image.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/terms/arm_report.h"
#include "engine/terms/event.h"
#include "engine/terms/module.h"
#include "engine/terms/options.h"
#include "engine/terms/site_request.h"

namespace spile::engine {

class Backend {
 public:
  virtual ~Backend() = default;
  // Takes the handlers and the arena, a memfd of the geometry's size, and what lies over its shared pages, if it has any.
  // REQUIRES: called once, before arm().
  virtual Result<void> use_image(const abi::CodeImage& image, const ArenaGeometry& geometry, UniqueFd arena, UniqueFd shared) = 0;
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

}  // namespace spile::engine
