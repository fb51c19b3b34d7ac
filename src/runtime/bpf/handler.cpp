// A handler's life: the level of its CPU that it owns, its scratch memory, the locks of globals.

#include "runtime/bpf/bpf.h"

namespace spile::rt {

extern "C" {
[[gnu::used]] const volatile abi::KernelConstants spile_kernel_constants = {};
[[gnu::used]] volatile abi::KernelControl spile_kernel_control = {};
[[gnu::section(".data.locks"), gnu::used]] uint32_t spile_kernel_locks[abi::kKernelLocks] = {};
}

// How often a lock is tried: about 10 us against another CPU that holds it.
inline constexpr int kLockAttempts = 512;

// False: this CPU's level is taken by a handler that we have interrupted.
SPILE_INLINE inline bool take_level(abi::KernelState* state, uint64_t level) {
  uint64_t bit = uint64_t{1} << level;
  return !(__sync_fetch_and_or(&state->levels_busy, bit) & bit);
}

SPILE_INLINE inline uint32_t current_epoch() {
  return spile_kernel_control.epoch & 1;
}

extern "C" {

SPILE_INLINE bool spile_rt_enter(Context* context) {
  if (!spile_kernel_control.enabled) return false;
  abi::KernelState* state = cpu_state();
  if (!state) return false;
  uint32_t level = 0;
  if (!take_level(state, 0)) {
    if (take_level(state, 1))
      level = 1;
    else if (take_level(state, 2))
      level = 2;
    else if (take_level(state, 3))
      level = 3;
    else {
      __sync_fetch_and_add(&state->skipped[abi::kSkipReentrant], 1);
      return false;
    }
  }
  shard_of(context) = static_cast<uint16_t>(current_epoch() * abi::kKernelLevels + level);
  frame_top_of(context) = 0;
  state_of(context) = state;
  scratch_of(context) = static_cast<char*>(lookup(&spile_map_scratch, &level));
  return scratch_of(context) != nullptr;
}

SPILE_INLINE void spile_rt_leave(Context* context) {
  __sync_fetch_and_and(&state_of(context)->levels_busy, ~(uint64_t{1} << (shard_of(context) % abi::kKernelLevels)));
}

// Additions to scalars are atomic, so they need no level of their own.
SPILE_INLINE bool spile_rt_enter_light(Context* context) {
  shard_of(context) = static_cast<uint16_t>(current_epoch() * abi::kKernelLevels);
  return spile_kernel_control.enabled;
}
SPILE_INLINE void spile_rt_leave_light(Context*) {}

// The handler that holds it may be the one that we interrupted, so it is not waited for without end.
SPILE_INLINE bool spile_rt_lock(Context*, uint64_t index) {
  uint32_t* lock = &spile_kernel_locks[index];
  for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
    if (__sync_val_compare_and_swap(lock, 0u, 1u) == 0) return true;
  }
  count_skip(abi::kSkipLockTimeout);
  return false;
}
SPILE_INLINE void spile_rt_unlock(Context*, uint64_t index) {
  __sync_lock_test_and_set(&spile_kernel_locks[index], 0u);
}

SPILE_INLINE uint64_t spile_rt_frame_mark(Context* context) {
  return frame_top_of(context);
}
SPILE_INLINE void* spile_rt_frame(Context* context, uint32_t bytes) {
  uint32_t top = frame_top_of(context);
  uint32_t next = top + (bytes + 15) / 16;
  if (next * 16 > abi::kKernelScratchSize - abi::kKernelRecordSize - spile_rt_string_size) return nullptr;
  frame_top_of(context) = static_cast<uint16_t>(next);
  return scratch_of(context) + top * 16;
}
SPILE_INLINE void spile_rt_frame_release(Context* context, uint64_t mark) {
  frame_top_of(context) = static_cast<uint16_t>(mark);
}

}  // extern "C"

}  // namespace spile::rt
