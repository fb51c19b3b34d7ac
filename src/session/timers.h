#pragma once
// When timer probes are due. Times are CLOCK_MONOTONIC ns. A timer that fell behind runs once and goes on from now.

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "sema/program.h"

namespace spile::session {

class Timers {
 public:
  explicit Timers(const sema::Program& program);
  void start(int64_t now);
  std::optional<int64_t> next_due() const;
  // Probes due by now, in order of due time; each is scheduled anew.
  std::vector<int> take_due(int64_t now);

 private:
  struct Timer {
    int probe;
    int64_t interval_ns;
    int64_t randomize_ns;
    int64_t due_ns;
  };
  int64_t next_interval(const Timer& timer);
  std::vector<Timer> timers_;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace spile::session
