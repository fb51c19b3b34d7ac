#pragma once
// Where handlers in the kernel find what they share with spile and with traced processes; the same functions as runtime/native/in_process.h has.
// Included by native.h alone.

namespace spile::rt {

inline constexpr bool kReadsKernelMemory = true;
inline constexpr uint64_t kFrameSets = abi::kKernelFrameSets;  // native/call_table.h

SPILE_INLINE inline int64_t current_task() {
  return helper<int64_t (*)()>(BPF_FUNC_get_current_task)();
}
SPILE_INLINE inline int64_t kernel_clock_ns() {
  return static_cast<int64_t>(monotonic_ns());
}

// A handler in the kernel reaches the arena by the low 32 bits of an address, which are the same wherever it is mapped, so this stands for
// the address in every process (abi/kernel.h).
SPILE_INLINE inline abi::ArenaHeader* arena_header() {
  return reinterpret_cast<abi::ArenaHeader*>(abi::kKernelArenaBase);
}

// Handlers in the kernel end with the controller: the kernel closes what it has attached.
SPILE_INLINE inline bool controller_gone(const abi::ArenaHeader*) {
  return false;
}
SPILE_INLINE inline bool may_call_system() {
  return false;
}

// Returns the counter of time, in ticks of the processor's (abi/arena.h), by the kernel's monotonic clock.
inline uint64_t time_counter() {
  const abi::ArenaHeader* header = arena_header();
  uint64_t now = monotonic_ns();
  constexpr int kTries = 3;  // the controller sets the clock within some 100 ns, about once a second
  uint64_t ticks = 0;
  for (int tries = 0; tries < kTries; ++tries) {
    uint32_t sequence = load_acquire(&header->clock_sequence);
    uint64_t passed = now - load_relaxed(&header->clock_base_monotonic);
    uint64_t mult = load_relaxed(&header->ticks_mult), base = load_relaxed(&header->clock_base_tsc);
    auto back = static_cast<int64_t>(passed) < 0;
    uint64_t distance = (back ? 0 - passed : passed) * mult >> abi::kTicksShift;
    ticks = back ? base - distance : base + distance;
    if (likely(!(sequence & 1) && load_acquire(&header->clock_sequence) == sequence)) break;
  }
  return ticks;
}

// Handlers in the kernel reach nothing but the arena.
SPILE_INLINE inline bool is_confined(const void*, uint64_t, bool) {
  return true;
}

// The lowest level of a CPU has the largest ring.
SPILE_INLINE inline uint64_t ring_size_of(const abi::ThreadSlot* slot) {
  return slot->ring_size;
}
// A handler in the kernel can't wait for the reader of its ring.
SPILE_INLINE inline bool wait_for_room(abi::ThreadSlot*, uint64_t) {
  return false;
}
SPILE_INLINE inline bool drain_own_ring(abi::ThreadSlot*) {
  return false;
}

}  // namespace spile::rt
