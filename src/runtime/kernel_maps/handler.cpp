// A handler's life: the level of its CPU that it owns, its scratch memory, the locks of globals.

#include "runtime/kernel_maps/kernel_maps.h"

namespace spile::rt {

extern "C" {
[[gnu::used]] const volatile abi::KernelConstants spile_kernel_constants = {};
[[gnu::used]] const volatile abi::KernelMembers spile_kernel_members = {};
[[gnu::used]] const volatile abi::KernelPrograms spile_kernel_programs = {};
[[gnu::used]] volatile abi::KernelControl spile_kernel_control = {};
[[gnu::section(".data.locks"), gnu::used]] uint32_t spile_kernel_locks[abi::kKernelLocks] = {};
}

// A lock is waited for until kLockPatience is over: longer than a virtual machine's CPU stands still as a rule.
inline constexpr uint64_t kLockPatience = 10'000'000;  // ns
inline constexpr uint64_t kBriskAttempts = 50;         // without a pause between

// False: this CPU's level is taken by a handler that we have interrupted.
SPILE_INLINE inline bool take_level(abi::KernelState* state, uint64_t level) {
  uint64_t bit = uint64_t{1} << level;
  return !(__sync_fetch_and_or(&state->levels_busy, bit) & bit);
}

SPILE_INLINE inline uint32_t current_epoch() { return spile_kernel_control.epoch & 1; }

// Neither stopped nor ended: one load of both words (abi::KernelControl).
SPILE_INLINE inline bool handlers_run() { return *reinterpret_cast<const volatile uint64_t*>(&spile_kernel_control) == 1; }

// A handler that waits for a lock, in its scratch memory, in which nothing lies before it has its locks.
struct LockWait {
  uint64_t index, self, start, attempts, taken;
};

// Takes some microseconds: copies the handler's scratch memory onto itself.
SPILE_INLINE inline void pause(char* scratch) {
  for (int i = 0; i < 2; ++i) read_kernel(scratch, abi::kKernelScratchSize, scratch);
}

extern "C" {
extern char spile_map_turns;

// Called for each turn (bpf-helpers(7), bpf_for_each_map_elem). argument: a pointer to one to the scratch memory. 0: go on. The
// verifier follows it once, and what it changes must lie in a map (docs/decisions/037).
[[gnu::section("callback.wait"), gnu::noinline, gnu::used]] long spile_kernel_wait(void*, const void*, void*, void* argument) {
  char* scratch = *static_cast<char**>(argument);
  auto* wait = reinterpret_cast<volatile LockWait*>(scratch);
  const uint64_t self = wait->self;
  const uint32_t holder =
      __sync_val_compare_and_swap(&spile_kernel_locks[wait->index & (abi::kKernelLocks - 1)], 0u, static_cast<uint32_t>(self));
  wait->taken = holder == 0;
  // The handler that holds it may be the one that we interrupted, which does not go on before we have left.
  if (holder == 0 || holder == self) return 1;
  wait->attempts = wait->attempts + 1;
  if (wait->attempts < kBriskAttempts) return 0;
  pause(scratch);
  return monotonic_ns() - wait->start > kLockPatience;
}
}

extern "C" {

// Handlers that run in interrupts may interrupt others, and are missed then.
SPILE_INLINE void spile_rt_kernel_note_interrupt() {
  if (spile_kernel_control.interrupts == 0 && interrupt_flow() != 0) spile_kernel_control.interrupts = 1;
}

SPILE_INLINE bool spile_rt_enter(Context* context) {
  if (!handlers_run()) return false;
  abi::KernelState* state = cpu_state();
  if (!state) return false;
  uint32_t level = 0;
  if (!take_level(state, 0)) {
    if (take_level(state, 1)) level = 1;
    else if (take_level(state, 2)) level = 2;
    else if (take_level(state, 3)) level = 3;
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
  __sync_fetch_and_and(&state_of(context)->levels_busy, ~(uint64_t{1} << level_of(context)));
}

// Additions to scalars are atomic, so they need no level of their own.
SPILE_INLINE bool spile_rt_enter_light(Context* context) {
  shard_of(context) = static_cast<uint16_t>(current_epoch() * abi::kKernelLevels);
  return handlers_run();
}
SPILE_INLINE void spile_rt_leave_light(Context*) {}

SPILE_INLINE bool spile_rt_exiting(Context*, uint64_t) { return !handlers_run(); }
SPILE_INLINE void spile_rt_note_error(Context*, uint64_t most) {
  auto* errors = const_cast<uint32_t*>(&spile_kernel_control.errors);
  if (__sync_fetch_and_add(errors, 1u) >= most) spile_kernel_control.enabled = 0;
}

SPILE_INLINE bool spile_rt_lock(Context* context, uint64_t index) {
  uint32_t self = current_cpu() + 1;
  if (__sync_val_compare_and_swap(&spile_kernel_locks[index], 0u, self) == 0) return true;
  char* scratch = scratch_of(context);
  auto* wait = reinterpret_cast<volatile LockWait*>(scratch);
  wait->index = index;
  wait->self = self;
  wait->start = monotonic_ns();
  wait->attempts = 0;
  wait->taken = 0;
  helper<long (*)(void*, void*, void*, uint64_t)>(BPF_FUNC_for_each_map_elem)(
      &spile_map_turns, reinterpret_cast<void*>(&spile_kernel_wait), &scratch, 0);
  if (wait->taken) return true;
  count_skip(abi::kSkipLockTimeout);
  return false;
}
SPILE_INLINE void spile_rt_unlock(Context*, uint64_t index) { __sync_lock_test_and_set(&spile_kernel_locks[index], 0u); }

// Handlers of other threads use other keys, so that a lock is needed by threads of number 0 only: there is one for each CPU
// (idle), and threads that spile's namespace does not see. A handler that interrupted one of its own thread would meet it half
// done.
SPILE_INLINE bool spile_rt_lock_thread(Context* context, uint64_t index) {
  abi::KernelState* state = state_of(context);
  auto thread = static_cast<uint64_t>(spile_rt_tid(context));
  uint32_t level = level_of(context);
  for (uint32_t below = 0; below < abi::kKernelLevels - 1; ++below) {
    if (below < level && thread != 0 && state->threads[below] == thread) {
      count_skip(abi::kSkipReentrant);
      return false;
    }
  }
  if (level < abi::kKernelLevels) *static_cast<volatile uint64_t*>(&state->threads[level]) = thread;
  return thread != 0 || spile_rt_lock(context, index);
}
SPILE_INLINE void spile_rt_unlock_thread(Context* context, uint64_t index) {
  uint32_t level = level_of(context);
  if (level < abi::kKernelLevels) *static_cast<volatile uint64_t*>(&state_of(context)->threads[level]) = 0;
  if (spile_rt_tid(context) == 0) spile_rt_unlock(context, index);
}

SPILE_INLINE uint64_t spile_rt_frame_mark(Context* context) { return frame_top_of(context); }
SPILE_INLINE void* spile_rt_frame(Context* context, uint32_t bytes) {
  const uint64_t top = frame_top_of(context);
  const uint64_t next = top + (bytes + 15) / 16 * 16;
  if (next > abi::kKernelActionsOffset - spile_rt_string_size) return nullptr;
  frame_top_of(context) = next;
  return scratch_of(context) + top;
}
SPILE_INLINE void spile_rt_frame_release(Context* context, uint64_t mark) { frame_top_of(context) = mark; }

}  // extern "C"

}  // namespace spile::rt
