// Spin locks of globals that several handlers read and write (process/lock.cpp has those of processes). A handler in the kernel
// can't be preempted by one of a process on its own CPU, but may have interrupted one that holds the lock: waiting is bounded by
// time, and past the bound the hit is skipped and counted.

#include "runtime/core/core.h"

namespace spile::rt {

namespace {

// A handler holds a lock for some microseconds; a processor of a virtual machine may stand still meanwhile, for tens of
// milliseconds where many share a host. Two CPUs can also wait for each other: a handler that has interrupted another one waits
// for a lock of the other CPU, where it is the same the other way round. One of them gives up early, and a handler that has
// interrupted none takes part in this only as long as that takes.
inline constexpr uint64_t kPatienceNs = 100'000'000, kInterruptPatienceNs = 10'000'000;
// spile may have been preempted by the very thread that waits, so it is waited for less.
inline constexpr uint64_t kControllerPatienceNs = 1'000'000;
// A thread of a process that holds a lock and does not run may be the very one that this CPU would run; one that runs is done
// soon. Processes can write to their locks, so they get no more than that.
inline constexpr uint64_t kThreadPatienceNs = 30'000;
inline constexpr int kSpins = 64;  // between two looks at the clock

SPILE_INLINE inline uint64_t patience_for(uint32_t holder, uint32_t level) {
  if (holder == 0 || holder & abi::kKernelHolder) return level == 0 ? kPatienceNs : kInterruptPatienceNs;
  return holder == abi::kControllerSlot + 1 ? kControllerPatienceNs : kThreadPatienceNs;
}

[[gnu::noinline, gnu::cold]] bool wait_for_lock(Context* context, uint32_t* lock, uint32_t value) {
  const uint64_t start = monotonic_ns();
  const uint32_t level = (value - abi::kKernelHolder - 1 - abi::kFirstSlot) % abi::kKernelLevels, lowest = value - level;
  do {
    for (int spin = 0; spin < kSpins; ++spin) {
      const uint32_t seen = load_relaxed(lock);
      if ((seen == 0 || seen == abi::kReadingHolder) && compare_and_swap(lock, seen, value)) return true;
    }
    // A level below ours on this CPU has it: it can't go on before we are done.
    const uint32_t holder = load_relaxed(lock);
    if (holder >= lowest && holder < lowest + abi::kKernelLevels) break;
  } while (monotonic_ns() - start < patience_for(load_relaxed(lock), level));
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
