#pragma once
// The backend that traces processes, and arms in them for this spile and its guests.

#include "engine/terms/backend.h"

namespace spile::engine {

class TracingBackend : public Backend {
 public:
  static Result<std::unique_ptr<TracingBackend>> create(const EngineOptions& options);
  virtual Result<pid_t> launch(const LaunchOptions& options) = 0;
  virtual void resume_all() = 0;
  // As detach(), but what is to be armed in modules that come later stays known. An error: see Engine::suspend.
  virtual Result<void> suspend() = 0;
  virtual void probe_system_calls(const SystemCallHandlers& handlers) = 0;
};

}  // namespace spile::engine
