#pragma once
// What the files of core/, process/ and kernel/ share: the image's cells, the calling thread's slot, counting of skips, system
// calls.
//
// A place's files are one translation unit of the bitcode (module.cpp). All of it may be interrupted by a signal whose handler
// runs probes of the same thread; nothing here allocates or throws, and only what says so makes system calls or waits.

#include <asm/unistd.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/spilled_returns.h"
#include "runtime/core/arch.h"
#include "runtime/core/attributes.h"
#include "runtime/interface.h"

namespace spile::rt {

inline constexpr uint32_t kOwnerDied = 0x40000000;  // FUTEX_OWNER_DIED

template <typename T>
SPILE_INLINE inline bool likely(T condition) {
  return __builtin_expect(static_cast<bool>(condition), 1);
}
template <typename T>
SPILE_INLINE inline bool unlikely(T condition) {
  return __builtin_expect(static_cast<bool>(condition), 0);
}

// Orders memory accesses as a signal handler of this thread sees them; no instruction.
SPILE_INLINE inline void compiler_barrier() { asm volatile("" ::: "memory"); }
// The value, of which the optimizer does not know any more how it was computed; no instruction.
template <typename T>
SPILE_INLINE inline T opaque(T value) {
  asm volatile("" : "+r"(value));
  return value;
}

SPILE_INLINE inline char* bytes_of(const void* p) { return static_cast<char*>(const_cast<void*>(p)); }

// From constants of the script: what the header says of its slots is for people, as any traced process can change it.
SPILE_INLINE inline abi::ThreadSlot* slot_at(abi::ArenaHeader* header, uint64_t index) {
  return reinterpret_cast<abi::ThreadSlot*>(bytes_of(header) + uint64_t{spile_rt_slots_page} * abi::kPageSize +
                                            index * spile_rt_slot_stride);
}
// Returns the index of the slot that an address lies in. REQUIRES: it lies in one.
SPILE_INLINE inline uint64_t slot_index_of(abi::ArenaHeader* header, const void* at) {
  return static_cast<uint64_t>(bytes_of(at) - bytes_of(slot_at(header, 0))) / spile_rt_slot_stride;
}

// Memory that other threads or the controller read or write at the same time.
template <typename T>
SPILE_INLINE inline T load_relaxed(const T* p) {
  return __atomic_load_n(p, __ATOMIC_RELAXED);
}
template <typename T>
SPILE_INLINE inline T load_acquire(const T* p) {
  return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
// A word that is only compared with something: unlike an atomic load, this one becomes part of the comparing instruction. It
// races with stores on purpose: a processor reads an aligned word whole. ThreadSanitizer is shown the atomic load that it stands
// for.
template <typename T>
SPILE_INLINE inline T load_to_compare(const T* p) {
#if __has_feature(thread_sanitizer)
  return load_relaxed(p);
#else
  compiler_barrier();
  return *p;
#endif
}
template <typename T>
SPILE_INLINE inline void store_relaxed(T* p, T value) {
  __atomic_store_n(p, value, __ATOMIC_RELAXED);
}
template <typename T>
SPILE_INLINE inline void store_release(T* p, T value) {
  __atomic_store_n(p, value, __ATOMIC_RELEASE);
}
template <typename T>
// One try; false: *p is not `expected`. Unlike add_in_place, it locks the bus: other threads may write the word.
SPILE_INLINE inline bool compare_and_swap(T* p, T expected, T desired) {
  return __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

}  // namespace spile::rt

#if defined(__bpf__)
#include "runtime/kernel/in_kernel.h"
#else
#include "runtime/process/in_process.h"
#endif

namespace spile::rt {

// Counts a skip. Exact where one thread has the slot; in the overflow slot, counts of threads that come at once may be lost.
SPILE_INLINE inline void count_skip(abi::ThreadSlot* slot, abi::SkipReason reason) { add_in_place(&slot->skipped[reason], 1); }

// Returns the page before the controller's slot. REQUIRES: in the controller, whose slot it is.
SPILE_INLINE inline abi::ControllerState* controller_state_before(abi::ThreadSlot* slot) {
  return reinterpret_cast<abi::ControllerState*>(bytes_of(slot) - abi::kPageSize);
}
SPILE_INLINE inline const abi::ControllerState* controller_state(Context* context) {
  return controller_state_before(context->slot);
}
SPILE_INLINE inline bool may_access(const void* place, uint64_t size, bool writes) {
  return !spile_rt_in_controller || is_confined(place, size, writes);
}
// Returns the process that a handler of the controller is about, which stands still; null: none, or the handler runs in a target.
SPILE_INLINE inline const abi::Subject* subject_of(Context* context) {
  if (!spile_rt_in_controller) return nullptr;
  const abi::Subject* subject = &controller_state(context)->subject;
  return subject->active ? subject : nullptr;
}

// Reads a clock (CLOCK_REALTIME, CLOCK_MONOTONIC) by a system call, or asks the controller. 0: nobody answers.
SPILE_COLD int64_t system_clock_ns(long clock);
// Returns CLOCK_MONOTONIC, for a handler in a process. 0: it can't be read.
int64_t monotonic_clock_ns(Context* context);

// Returns the address of the stack slot that has the return address of the function with this CFA.
SPILE_INLINE inline uint64_t return_slot_of(uint64_t cfa) {
  return cfa + static_cast<uint64_t>(int64_t{abi::kConvention.return_slot});
}

// Takes the overflow slot's spin lock, in which `value`, not 0, then names the holder. False: not to be had within ~10 ms.
bool take_lock(uint32_t* lock, uint32_t value);
SPILE_INLINE inline void give_lock(uint32_t* lock) { store_release(lock, 0u); }

// Returns the address that a word at `stack_slot` stands for: itself, or what a pending return, ours or another controller's, has
// put away; 0: not to be found. *from: the depth in the slot's shadow stack below which the search begins (~0u at first), and
// then how far it got, for the next frame of the same walk.
uint64_t real_return_address(abi::ThreadSlot* slot, uint64_t stack_slot, uint64_t word, uint32_t* from);

// Work on possibly long ranges by words (memory.cpp). bounded_length: returns the bytes before the NUL, at most `limit`.
// copy_bytes: REQUIRES that the ranges do not overlap, or are the same. In the controller, ranges from kRepeatThreshold bytes on
// that it may not access are left as they are.
uint32_t bounded_length(const char* text, uint32_t limit);
void copy_bytes(void* to, const void* from, uint64_t count);
void zero_bytes(void* to, uint64_t count);
// Empties an aggregate whose bytes are one, or 0. features, size: of its AggregateShape, or `aggregate` and `value_size` of its
// MapShape.
void clear_aggregate(abi::Aggregate* aggregate, uint32_t features, uint32_t size);

}  // namespace spile::rt
