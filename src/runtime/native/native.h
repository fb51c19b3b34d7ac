#pragma once
// What the files of native/ share: the image's cells, the calling thread's slot, counting of skips, system calls.
//
// All of native/ is one translation unit of the bitcode (module.cpp).

#include <stddef.h>
#include <stdint.h>

#include <asm/unistd.h>

#include "abi/spilled_returns.h"
#include "runtime/interface.h"
#include "runtime/native/arch.h"
#include "runtime/native/attributes.h"

namespace spile::rt {

extern "C" {
// The image's first bytes. Volatile: the engine writes them after compilation, behind the optimizer's back.
SPILE_HIDDEN extern volatile abi::ImageCells spile_cells;
}

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
SPILE_INLINE inline void compiler_barrier() {
  asm volatile("" ::: "memory");
}
// The value, of which the optimizer does not know any more how it was computed; no instruction.
template <typename T>
SPILE_INLINE inline T opaque(T value) {
  asm volatile("" : "+r"(value));
  return value;
}

SPILE_INLINE inline abi::ArenaHeader* arena_header() {
  return reinterpret_cast<abi::ArenaHeader*>(static_cast<uintptr_t>(spile_cells.arena));
}
SPILE_INLINE inline abi::ProcessTable* process_table() {
  return reinterpret_cast<abi::ProcessTable*>(static_cast<uintptr_t>(spile_cells.process_table));
}
SPILE_INLINE inline char* bytes_of(const void* p) {
  return static_cast<char*>(const_cast<void*>(p));
}

// From constants of the script: what the header says of its slots is for people, as any traced process can change it.
SPILE_INLINE inline abi::ThreadSlot* slot_at(abi::ArenaHeader* header, uint64_t index) {
  return reinterpret_cast<abi::ThreadSlot*>(bytes_of(header) + uint64_t{spile_rt_slots_page} * abi::kPageSize +
                                            index * spile_rt_slot_stride);
}
// Of an address in a slot: the slot's index.
SPILE_INLINE inline uint64_t slot_index_of(abi::ArenaHeader* header, const void* at) {
  return static_cast<uint64_t>(bytes_of(at) - bytes_of(slot_at(header, 0))) / spile_rt_slot_stride;
}

// Where slots of threads end that this process can see: a forked child sees its parent's.
SPILE_INLINE inline uint64_t slots_end() {
  if (spile_rt_in_controller) return spile_rt_slot_count;
  auto* state = reinterpret_cast<const abi::InheritedState*>(bytes_of(process_table()) + abi::kInheritedOffset);
  uint64_t slots = __atomic_load_n(&state->slots, __ATOMIC_ACQUIRE);
  return slots < abi::kMostSlots ? slots : abi::kMostSlots;
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
// A word that is only compared with something: unlike an atomic load, this one becomes part of the comparing instruction. It races
// with stores on purpose: a processor reads an aligned word whole. ThreadSanitizer is shown the atomic load that it stands for.
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
SPILE_INLINE inline bool compare_and_swap(T* p, T expected, T desired) {
  return __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

SPILE_INLINE inline void count_skip(abi::ThreadSlot* slot, abi::SkipReason reason) {
  add_in_place(&slot->skipped[reason], 1);
}

// The controller has died: nobody catches faults, drains rings or frees locks any more.
SPILE_INLINE inline bool controller_gone(const abi::ArenaHeader* header) {
  return unlikely(load_relaxed(&header->controller_futex[0]) & kOwnerDied);
}

SPILE_INLINE inline bool may_call_system() {
  return spile_rt_in_controller || !process_table()->no_system_calls;
}

// REQUIRES: in the controller, whose slot it is.
SPILE_INLINE inline abi::ControllerState* controller_state_before(abi::ThreadSlot* slot) {
  return reinterpret_cast<abi::ControllerState*>(bytes_of(slot) - abi::kPageSize);
}
SPILE_INLINE inline const abi::ControllerState* controller_state(Context* context) {
  return controller_state_before(context->slot);
}
// Whether handlers of the controller may access these bytes (confine.cpp).
bool is_confined(const void* place, uint64_t size, bool writes);
SPILE_INLINE inline bool may_access(const void* place, uint64_t size, bool writes) {
  return !spile_rt_in_controller || is_confined(place, size, writes);
}
// The process that a handler of the controller is about; null: none, or it runs in a target.
SPILE_INLINE inline const abi::Subject* subject_of(Context* context) {
  if (!spile_rt_in_controller) return nullptr;
  const abi::Subject* subject = &controller_state(context)->subject;
  return subject->active ? subject : nullptr;
}

// For a thread that may not read the counter (prctl PR_SET_TSC, strict seccomp mode).
SPILE_COLD uint64_t estimate_counter();

// Never the same twice in a thread, so that what waits until it has grown comes to an end.
SPILE_INLINE inline uint64_t time_counter() {
  uint64_t value;
  return read_counter(&value) ? value : estimate_counter();
}

// By a system call; 0 where none may be made.
SPILE_COLD int64_t system_clock_ns(long clock);

// Where the return address of the function with this CFA lies.
SPILE_INLINE inline uint64_t return_slot_of(uint64_t cfa) {
  return cfa + static_cast<uint64_t>(int64_t{abi::kConvention.return_slot});
}

// Takes the overflow slot's spin lock. False: not to be had within ~10 ms.
bool take_lock(uint32_t* lock, uint32_t value);
SPILE_INLINE inline void give_lock(uint32_t* lock) {
  store_release(lock, 0u);
}

// The return address that a word on the stack stands for: itself, or what a pending return of ours has put away. `from`:
// where the search in the shadow stack begins, and then how far it got (~0u at first). 0: not to be found.
uint64_t real_return_address(abi::ThreadSlot* slot, uint64_t stack_slot, uint64_t word, uint32_t* from);

// Word-at-a-time string length and copying of possibly long ranges (memory.cpp).
uint32_t bounded_length(const char* text, uint32_t limit);
void copy_bytes(void* to, const void* from, uint64_t count);
void zero_bytes(void* to, uint64_t count);

}  // namespace spile::rt
