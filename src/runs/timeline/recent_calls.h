#pragma once
// The calls that a running script's handlers have noted lately, for presenters that show them. Thread rule: one thread.

#include <cstdint>

#include "runs/timeline/timeline.h"

namespace spile::runs {

class RecentCalls {
 public:
  virtual ~RecentCalls() = default;

  // Stops the noting, unless a handler has done so before.
  virtual void stop() = 0;
  // Adds the calls that ended or ran in the last `last_ns` before the stop, each thread's and process's names included. Of calls
  // that were overwritten, or that were not noted as the noting was stopped, nothing is shown: an instant of the thread says from
  // when on its calls are complete. REQUIRES: stop() was called, or call_history_stop() by a handler.
  struct Taken {
    int64_t begin_ns = 0, end_ns = 0;
    uint64_t calls = 0;
    uint32_t threads = 0;        // with calls
    uint32_t short_threads = 0;  // whose calls of a part of that time were overwritten
    int64_t shortest_ns = 0;     // of those, the least time that is complete
  };
  virtual Taken take(Timeline& timeline, int64_t last_ns) = 0;
  // Lets calls be noted again.
  virtual void go_on() = 0;
};

}  // namespace spile::runs
