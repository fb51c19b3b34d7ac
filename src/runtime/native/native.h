#pragma once
// What the files of native/ share: the image's cells, the calling thread's slot, counting of skips, system calls.
//
// All of native/ is one translation unit of the bitcode (module.cpp). Functions on the hit path are always_inline, so
// that they fold into the script's handlers; what they need rarely is SPILE_COLD: out of line with the preserve_most
// convention, so that a handler that could call it, but does not, saves no register for it.

#include <stddef.h>
#include <stdint.h>

#include "abi/spilled_returns.h"
#include "runtime/interface.h"

#define SPILE_INLINE [[gnu::always_inline]]
#define SPILE_COLD [[gnu::noinline, gnu::cold, clang::preserve_most]]
#define SPILE_HIDDEN [[gnu::visibility("hidden")]]

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
// A word that is only compared with something: unlike an atomic load, this one becomes part of the comparing instruction.
template <typename T>
SPILE_INLINE inline T load_to_compare(const T* p) {
  compiler_barrier();
  return *p;
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

// One instruction: a signal handler of this thread comes before or after it.
SPILE_INLINE inline void add_in_place(uint64_t* p, uint64_t value) {
  asm volatile("addq %1, %0" : "+m"(*p) : "er"(value) : "cc");
}

SPILE_INLINE inline void count_skip(abi::ThreadSlot* slot, abi::SkipReason reason) {
  add_in_place(&slot->skipped[reason], 1);
}

// The controller has died: nobody catches faults, drains rings or frees locks any more.
SPILE_INLINE inline bool controller_gone(const abi::ArenaHeader* header) {
  return unlikely(load_relaxed(&header->controller_futex[0]) & kOwnerDied);
}

inline constexpr long kSysSchedYield = 24, kSysNanosleep = 35, kSysGetpid = 39, kSysKill = 62, kSysGetuid = 102, kSysPrctl = 157,
                      kSysGettid = 186, kSysClockGettime = 228;

SPILE_INLINE inline long system_call(long number, long a = 0, long b = 0, long c = 0) {
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
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

#ifdef SPILE_BITCODE
#define SPILE_FIXUPS ".spile.fixups"
#else
#define SPILE_FIXUPS "spile_fixups"  // a name for which the linker makes __start_ and __stop_ symbols
#endif
// Within assembly: where to go on if the instruction at label FAULTING faults (load.cpp says who catches it).
#define SPILE_FIXUP(FAULTING, RESUME)                                    \
  ".pushsection " SPILE_FIXUPS ",\"a\",@progbits\n.balign 4\n"            \
  ".long " #FAULTING " - .\n.long " #RESUME " - .\n.popsection"

// For a thread that may not read the counter (prctl PR_SET_TSC, strict seccomp mode).
SPILE_COLD uint64_t estimate_tsc();

SPILE_INLINE inline uint64_t fs_base() {
  uint64_t base;
  asm volatile("rdfsbase %0" : "=r"(base));
  return base;
}

// Never the same twice in a thread, so that what waits until it has grown comes to an end.
SPILE_INLINE inline uint64_t read_tsc() {
  uint32_t low, high;
  asm goto("1: rdtsc\n" SPILE_FIXUP(1b, %l[fault]) : "=a"(low), "=d"(high) : : : fault);
  return static_cast<uint64_t>(high) << 32 | low;
fault:
  return estimate_tsc();
}
// The number of the CPU, as the vDSO's getcpu finds it: the limit of a segment that Linux sets up for each CPU.
SPILE_INLINE inline uint16_t current_cpu() {
  uint32_t limit;
  asm volatile("lsl %1, %0" : "=r"(limit) : "r"(0x7bu) : "cc");
  return static_cast<uint16_t>(limit & 0xfff);
}

SPILE_INLINE inline void pause_cpu() {
  asm volatile("pause" ::: "memory");
}

// By a system call; 0 where none may be made.
SPILE_COLD int64_t system_clock_ns(long clock);

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
