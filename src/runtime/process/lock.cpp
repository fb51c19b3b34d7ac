// Spin locks of globals that several handlers read and write. Held for the length of one handler, so waiting is
// bounded: past the bound the hit is skipped and counted rather than let a traced thread hang.

#include "abi/kernel.h"
#include "runtime/core/core.h"

namespace spile::rt {

namespace {
inline constexpr uint64_t kTargetPatience = 30'000'000;         // TSC ticks: about 10 ms
inline constexpr uint64_t kStaleTime = 3'000'000;               // about 1 ms
inline constexpr uint64_t kTurnTime = 300'000;                  // about 0.1 ms: what a turn of waiting counts at most, in targets
inline constexpr uint32_t kStolenReads = 100;                   // after so many, a reader keeps its lock
inline constexpr uint64_t kControllerPatience = 6'000'000'000;  // the controller may wait for preempted threads
}  // namespace

[[gnu::noinline]] bool take_lock(uint32_t* lock, uint32_t value) {
  uint64_t start = time_counter();
  // The last try is made after the time is up, as this thread may have been stopped itself.
  for (bool is_late = false; !is_late;) {
    is_late = time_counter() - start > kTargetPatience;
    for (int spin = 0; spin < 16; ++spin) {
      if (!load_relaxed(lock) && compare_and_swap(lock, 0u, value)) return true;
      pause_cpu();
    }
  }
  return false;
}

namespace {

// Whether a lock's holder may have died with it: whoever holds a lock is busy in a handler (but the controller).
SPILE_INLINE inline bool may_be_dead(abi::ArenaHeader* header, uint32_t holder) {
  uint32_t index = holder - 1;
  if (holder == 0 || index == abi::kControllerSlot || index >= slots_end()) return false;
  return load_acquire(&slot_at(header, index)->busy) == 0;
}

// Spins. A lock that is seen for a while to have the same holder, and that one in no handler, is a killed thread's (the
// controller has freed its slot meanwhile) and is taken over.
SPILE_COLD bool wait_for_lock(abi::ThreadSlot* slot, uint32_t* lock, uint32_t value) {
  abi::ArenaHeader* header = arena_header();
  uint32_t holder = load_acquire(lock);
  if (holder == value) return true;  // of the slot's holder before us: nobody takes a lock twice
  uint64_t last = time_counter(), stale_since = last, waited = 0;
  bool is_late = false;
  for (uint32_t round = 1; !is_late; ++round) {
    const uint64_t passed = time_counter() - last;
    last += passed;
    // While a thread of a target stood still itself, the holder could go on; it gives no time away by a system call, as the
    // controller does.
    waited += spile_rt_in_controller || passed < kTurnTime ? passed : kTurnTime;
    is_late = waited > (spile_rt_in_controller ? kControllerPatience : kTargetPatience);
    bool stale = true;
    for (int spin = 0; spin < 16; ++spin) {
      pause_cpu();
      uint32_t now = load_relaxed(lock);
      const bool is_free = now == 0 || (now == abi::kReadingHolder && !spile_rt_in_controller);
      if (is_free && compare_and_swap(lock, now, value)) return true;
      stale = stale && now == holder;
      holder = now;
    }
    uint64_t time = time_counter();
    if (!stale || !may_be_dead(header, holder)) stale_since = time;
    if (time - stale_since > kStaleTime && compare_and_swap(lock, holder, value)) return true;
    // The holder may have been stopped on this very processor.
    if (round % 16 == 0 && may_call_system()) system_call(__NR_sched_yield);
  }
  count_skip(slot, abi::kSkipLockTimeout);
  return false;
}

}  // namespace

extern "C" {

SPILE_INLINE bool spile_rt_lock(Context* context, uint64_t lock_offset) {
  abi::ArenaHeader* header = context->arena;
  uint32_t* lock = reinterpret_cast<uint32_t*>(bytes_of(header) + lock_offset);
  // A lock holds the number of its holder's slot, so that the controller can free it when that thread has died.
  uint32_t slot_index = static_cast<uint32_t>(slot_index_of(header, context->slot));
  if (!spile_rt_in_controller && controller_gone(header)) {
    count_skip(context->slot, abi::kSkipControllerGone);
    return false;
  }
  if (likely(compare_and_swap(lock, 0u, slot_index + 1))) return true;
  return wait_for_lock(context->slot, lock, slot_index + 1);
}

SPILE_INLINE void spile_rt_unlock(Context* context, uint64_t lock_offset) {
  give_lock(reinterpret_cast<uint32_t*>(bytes_of(context->arena) + lock_offset));
}

bool spile_rt_lock_to_read(Context* context, uint64_t lock_offset, uint32_t attempt) {
  if (attempt >= kStolenReads) return spile_rt_lock(context, lock_offset);
  uint32_t* lock = reinterpret_cast<uint32_t*>(bytes_of(context->arena) + lock_offset);
  if (likely(compare_and_swap(lock, 0u, abi::kReadingHolder))) return true;
  return wait_for_lock(context->slot, lock, abi::kReadingHolder);
}

bool spile_rt_unlock_read(Context* context, uint64_t lock_offset) {
  uint32_t* lock = reinterpret_cast<uint32_t*>(bytes_of(context->arena) + lock_offset);
  if (compare_and_swap(lock, abi::kReadingHolder, 0u)) return true;
  return compare_and_swap(lock, static_cast<uint32_t>(slot_index_of(context->arena, context->slot)) + 1, 0u);
}

}  // extern "C"

}  // namespace spile::rt
