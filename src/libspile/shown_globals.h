#pragma once
// The globals and hits of a run as of its last tick, and the snapshot that the caller is shown. Thread rule: one thread.

#include <deque>
#include <string>
#include <vector>

#include "libspile/spile.h"
#include "runs/run/run_frames.h"
#include "runs/run/run_reader.h"

namespace spile::client {

class ShownGlobals {
 public:
  // Takes the facts of the run, or a frame that describes a global. Returns what is wrong with it, or "".
  std::string take(const runs::Frame& frame) { return decoder_.take(frame.kind, frame.payload); }
  // Takes a frame of a tick: the values of now. Returns what is wrong with it, or "".
  std::string take_tick(const runs::Frame& frame);
  bool has_tick() const { return has_tick_; }
  // Shows the last tick, until the next call. dropped_events: ShownEvents::dropped(). is_last: the run has ended.
  const spile_snapshot* show(uint64_t dropped_events, bool is_last);

 private:
  void show_global(size_t index);

  runs::RunDecoder decoder_;
  runs::RunTick tick_;
  bool has_tick_ = false;
  runs::RunTick shown_;  // of which the snapshot is
  spile_snapshot snapshot_{};
  std::vector<spile_global> globals_;
  std::vector<spile_probe> probes_;
  std::deque<std::vector<spile_element>> elements_;
  std::deque<std::vector<spile_value>> keys_;
};

}  // namespace spile::client
