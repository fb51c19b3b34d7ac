#pragma once
// Shows handlers that their faults are caught: a futex word in the arena's header (ArenaHeader::controller_futex), held by a
// thread of the tracer. The kernel marks it when the tracer dies, before ptrace lets the target go, and handlers return at once
// from then on.
//
// The kernel finds the word by a list that the thread has registered (set_robust_list(2)). The C library's robust mutexes keep
// that list's links beside the word, where a target could read and change them. So the list is one of our own, in memory that
// nobody shares:
//
//   thread's list head ──► node of arena 1 ──► node of arena 2 ──► head
//                           │ kFutexOffset bytes on
//                           ▼
//   [ private page: node ][ shared page: the arena's header, with the word ]        one such pair of pages for each hold
//
// Nothing is ever read from the shared page. The thread's former list (the C library's) is not seen by the kernel any more: the
// tracer has no robust mutexes.
//
// The arena's own controller holds it while it traces; for a guest its host does.

#include <cstdint>
#include <utility>

#include "base/result.h"

namespace spile::engine {

class ArenaHold {
 public:
  ArenaHold() = default;
  // Takes the hold for the calling thread, whichever thread has had it before. arena_fd is not needed afterwards. REQUIRES: all
  // processes with handlers of this arena are traced.
  static Result<ArenaHold> take(int arena_fd);
  // Gives up the hold: the death of the tracer is not marked any more. REQUIRES: runs on the thread that has taken it.
  ~ArenaHold() { release(); }
  ArenaHold(ArenaHold&& other) noexcept : pages_(std::exchange(other.pages_, nullptr)) {}
  ArenaHold& operator=(ArenaHold&& other) noexcept {
    release();
    pages_ = std::exchange(other.pages_, nullptr);
    return *this;
  }

 private:
  void release();
  uint8_t* pages_ = nullptr;  // the private page, and behind it a mapping of the header
};

}  // namespace spile::engine
