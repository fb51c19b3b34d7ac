#pragma once
// Keeps the times at which timer probes are due, in ns of CLOCK_MONOTONIC. A timer that fell behind runs once, goes on from now,
// and counts the times that it has missed.
// Thread rule: one thread.

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "sema/terms/program.h"

namespace spile::session {

class Timers {
 public:
  explicit Timers(const sema::Program& program);
  // Starts all intervals. REQUIRES: called before the functions below.
  void start(int64_t now);
  // Returns when the next timer is due; null: the script has none.
  std::optional<int64_t> next_due() const;
  // Returns the probes that are due by now (indexes into sema::Program::probes), in order of due time, and schedules each anew. A
  // probe with two timers that are due is in it twice.
  std::vector<int> take_due(int64_t now);
  // Returns a warning for each timer that missed more than a tenth of its times, ten at least, and 100 ms of them: a beat may
  // come late on a busy machine.
  std::vector<std::string> losses() const;

 private:
  struct Timer {
    int probe;
    std::string text;  // of the probe point
    int64_t interval_ns;
    int64_t randomize_ns;
    int64_t due_ns;
    int64_t ran = 0, missed = 0;
  };
  int64_t next_interval(const Timer& timer);
  std::vector<Timer> timers_;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace spile::session
