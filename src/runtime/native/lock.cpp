// Spin locks of globals that several handlers read and write. Held for the length of one handler, so waiting is bounded:
// past the bound the hit is skipped and counted rather than let a traced thread hang.

#include "runtime/native/native.h"

namespace spile::rt {

namespace {
inline constexpr uint64_t kTargetPatience = 30'000'000;         // TSC ticks: about 10 ms
inline constexpr uint64_t kControllerPatience = 6'000'000'000;  // the controller may wait for preempted threads
}  // namespace

[[gnu::noinline]] bool take_lock(uint32_t* lock, uint32_t value) {
  if (compare_and_swap(lock, 0u, value)) return true;
  uint64_t start = read_tsc();
  uint64_t patience = spile_rt_in_controller ? kControllerPatience : kTargetPatience;
  for (uint32_t round = 1;; ++round) {
    for (int spin = 0; spin < 16; ++spin) {
      pause_cpu();
      if (!load_relaxed(lock) && compare_and_swap(lock, 0u, value)) return true;
    }
    if (spile_rt_in_controller && round % 16 == 0) system_call(kSysSchedYield);
    if (read_tsc() - start > patience) return false;
  }
}

namespace {
SPILE_COLD bool wait_for_lock(abi::ThreadSlot* slot, uint32_t* lock, uint32_t value) {
  if (take_lock(lock, value)) return true;
  count_skip(slot, abi::kSkipLockTimeout);
  return false;
}
}  // namespace

extern "C" {

SPILE_INLINE bool spile_rt_lock(Context* context, uint64_t lock_offset) {
  abi::ArenaHeader* header = context->arena;
  uint32_t* lock = reinterpret_cast<uint32_t*>(bytes_of(header) + lock_offset);
  // A lock tells its holder's slot, so that the controller can free it when that thread has died.
  uint32_t slot_index = static_cast<uint32_t>(
      static_cast<uint64_t>(bytes_of(context->slot) - bytes_of(header) - header->slots_offset) / header->slot_stride);
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

}  // extern "C"

}  // namespace spile::rt
