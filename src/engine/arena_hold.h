#pragma once
// Tells handlers that their faults are caught: a robust mutex in the arena's header, held by a thread of the tracer. The kernel
// marks it when the tracer dies, before ptrace lets the target go, and handlers return at once from then on.
//
// The arena's own controller holds it while it traces; for a guest its host does.

#include <cstdint>
#include <utility>

#include "base/result.h"

namespace spile::engine {

class ArenaHold {
 public:
  ArenaHold() = default;
  // For the calling thread, whoever has held it before. REQUIRES: no process that is not traced has handlers of this arena.
  static Result<ArenaHold> take(int arena_fd);
  // What the calling thread has locked itself, in its mapping of the arena. Nothing happens if it has not.
  static void give_up(uint8_t* arena);
  ~ArenaHold() { release(); }
  ArenaHold(ArenaHold&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}
  ArenaHold& operator=(ArenaHold&& other) noexcept {
    release();
    page_ = std::exchange(other.page_, nullptr);
    return *this;
  }

 private:
  void release();
  uint8_t* page_ = nullptr;  // a mapping of the header
};

}  // namespace spile::engine
