#pragma once
// The backend that traces processes, and arms in them for this spile and its guests. Functions are those of Engine, except as
// stated.

#include "engine/terms/backend.h"

namespace spile::engine {

class TracingBackend : public Backend {
 public:
  // Creates it for the calling thread. The destructor detaches.
  static Result<std::unique_ptr<TracingBackend>> create(const EngineOptions& options);
  virtual Result<pid_t> launch(const LaunchOptions& options) = 0;
  virtual Result<void> execute() = 0;
  virtual void resume_all() = 0;
  // Detaches, but goes on asking EngineEvents::resolve_module; requests are forgotten, and given again by arm(). An error: see
  // Engine::suspend().
  virtual Result<void> suspend() = 0;
  virtual void probe_system_calls(const SystemCallHandlers& handlers) = 0;
};

}  // namespace spile::engine
