#pragma once
// The time up to which all records have been published. A handler reads the clock, and publishes its record afterwards; between
// the two a thread may be interrupted, for as long as a busy machine lets it wait. So a time becomes the horizon once each thread
// that was in a handler after it has left this handler, or has published a record since. A thread that does neither within
// 100 ms stands still (somebody has stopped it, or killed it there), and is not waited for again: its record may come late.
// Thread rule: one thread.

#include <cstdint>
#include <vector>

#include "session/arena/arena_view.h"

namespace spile::session {

class RecordHorizon {
 public:
  // Looks once more, before rings are taken: what is published then has all records up to complete(). now: of CLOCK_MONOTONIC,
  // ns. REQUIRES: all calls get the same arena.
  void advance(ArenaView& arena, int64_t now);
  // A time as records have it (abi::RecordHeader::time); 0: none yet.
  uint64_t complete() const { return complete_; }

 private:
  static constexpr int64_t kMostWait = 100'000'000;

  // A slot whose thread is in a handler, and its ring's head then.
  struct InHandler {
    uint32_t slot;
    uint64_t head;
    bool operator==(const InHandler&) const = default;
  };
  static bool is_there_still(const ArenaView& arena, const InHandler& one);
  void find_waiting(ArenaView& arena);

  std::vector<InHandler> waiting_;    // that next_ waits for
  std::vector<InHandler> standing_;   // that have been waited for in vain
  uint64_t complete_ = 0, next_ = 0;  // next_: 0: before the first call
  int64_t waiting_since_ = 0;         // 0: next_ waits for nobody yet
};

}  // namespace spile::session
