// Spin locks of globals that several handlers read and write (process/lock.cpp has those of processes). A handler in the kernel can't be
// preempted by one of a process on its own CPU, but may have interrupted one that holds the lock: waiting is bounded by time, and past the
// bound the hit is skipped and counted.

#include "runtime/core/core.h"

namespace spile::rt {

namespace {

// A handler holds a lock for some microseconds; a processor of a virtual machine may stand still meanwhile. spile may have been preempted by
// the very thread that waits, so it is waited for less.
// A thread of a process that holds a lock and does not run may be the very one that this CPU would run; one that runs is done soon. Processes
// can write to their locks, so they get no more than that.
inline constexpr uint64_t kPatienceNs = 10'000'000, kControllerPatienceNs = 1'000'000, kThreadPatienceNs = 30'000;
inline constexpr int kSpins = 64;  // between two looks at the clock

SPILE_INLINE inline uint64_t patience_for(uint32_t holder) {
  if (holder == 0 || holder & abi::kKernelHolder) return kPatienceNs;
  return holder == abi::kControllerSlot + 1 ? kControllerPatienceNs : kThreadPatienceNs;
}

[[gnu::noinline, gnu::cold]] bool wait_for_lock(Context* context, uint32_t* lock, uint32_t value) {
  uint64_t start = monotonic_ns();
  do {
    for (int spin = 0; spin < kSpins; ++spin) {
      if (!load_relaxed(lock) && compare_and_swap(lock, 0u, value)) return true;
    }
    // A level below ours on this CPU has it: it can't go on before we are done.
    uint32_t holder = load_relaxed(lock), own = value;
    uint32_t first = own - (own - abi::kKernelHolder - 1 - abi::kFirstSlot) % abi::kKernelLevels;
    if (holder >= first && holder < first + abi::kKernelLevels) break;
  } while (monotonic_ns() - start < patience_for(load_relaxed(lock)));
  count_skip(context->slot, abi::kSkipLockTimeout);
  return false;
}

}  // namespace

extern "C" {

SPILE_INLINE bool spile_rt_lock(Context* context, uint64_t lock_offset) {
  uint32_t* lock = reinterpret_cast<uint32_t*>(bytes_of(context->arena) + lock_offset);
  uint32_t value = static_cast<uint32_t>(slot_index_of(context->arena, context->slot)) + 1 + abi::kKernelHolder;
  if (likely(compare_and_swap(lock, 0u, value))) return true;
  return wait_for_lock(context, lock, value);
}

SPILE_INLINE void spile_rt_unlock(Context* context, uint64_t lock_offset) {
  store_release(reinterpret_cast<uint32_t*>(bytes_of(context->arena) + lock_offset), 0u);
}

}  // extern "C"

}  // namespace spile::rt
