#include "session/output/record_horizon.h"

#include <algorithm>
#include <atomic>

#include "abi/time_counter.h"

namespace spile::session {

bool RecordHorizon::is_there_still(const ArenaView& arena, const InHandler& one) {
  abi::ThreadSlot& slot = arena.slot(one.slot);
  return std::atomic_ref(slot.busy).load(std::memory_order_acquire) != 0 &&
         std::atomic_ref(slot.ring_head).load(std::memory_order_acquire) == one.head;
}

// A thread whose clock says less than next_ announced that it is in a handler before next_ was read, a call ago; what it stored
// has become visible since.
void RecordHorizon::find_waiting(ArenaView& arena) {
  std::erase_if(standing_, [&](const InHandler& one) { return !is_there_still(arena, one); });
  arena.for_each_used_slot([&](uint32_t i) {
    abi::ThreadSlot& slot = arena.slot(i);
    if (i == abi::kControllerSlot || std::atomic_ref(slot.busy).load(std::memory_order_acquire) == 0) return;
    const InHandler one{i, std::atomic_ref(slot.ring_head).load(std::memory_order_acquire)};
    if (std::ranges::find(standing_, one) == standing_.end()) waiting_.push_back(one);
  });
}

void RecordHorizon::advance(ArenaView& arena, int64_t now) {
  if (next_ != 0) {
    if (waiting_since_ == 0) {
      waiting_since_ = now;
      find_waiting(arena);
    }
    // Most handlers end within a microsecond, and the next one on that thread need not be waited for.
    constexpr int kLooks = 100;
    for (int look = 0; look < kLooks && !waiting_.empty(); ++look)
      std::erase_if(waiting_, [&](const InHandler& one) { return !is_there_still(arena, one); });
    if (!waiting_.empty() && now - waiting_since_ < kMostWait) return;
    standing_.insert(standing_.end(), waiting_.begin(), waiting_.end());
    waiting_.clear();
    waiting_since_ = 0;
    complete_ = next_;
  }
  next_ = abi::time_counter();
}

}  // namespace spile::session
