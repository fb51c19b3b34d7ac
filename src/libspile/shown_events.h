#pragma once
// The events of a run: their frames wait, packed, until an event is asked for. Thread rule: one thread.

#include <deque>
#include <string>
#include <vector>

#include "libspile/spile.h"
#include "runs/run/run_frames.h"
#include "runs/run/run_reader.h"

namespace spile::client {

class ShownEvents {
 public:
  // Takes the facts of the run. Returns what is wrong with them, or "".
  std::string take_facts(const runs::Frame& frame) { return decoder_.take(frame.kind, frame.payload); }
  // Takes a frame of events, or of the texts, processes and threads that they name. Where too much waits, drops the oldest
  // events. Returns what is wrong with a frame that was taken apart for that, or "".
  std::string add(runs::Frame frame);
  // Takes apart frames until an event is there. Returns false where there is none; `wrong` gets what is wrong with a frame.
  bool find_next(std::string& wrong);
  // Shows the next event, until the next call. REQUIRES: find_next() has returned true.
  const spile_event* show_next();

  // Whether no event has come that was not shown yet, as far as frames have been taken apart, and none waits.
  bool is_empty() { return decoder_.document().events.empty() && queue_.empty(); }
  uint64_t dropped() const { return dropped_; }

 private:
  runs::RunDecoder decoder_;
  std::deque<runs::Frame> queue_;
  size_t queued_bytes_ = 0;
  size_t next_ = 0;  // index into decoder_.document().events
  uint64_t dropped_ = 0;
  spile_event event_{};
  std::string text_;
  std::vector<spile_value> values_;
};

}  // namespace spile::client
