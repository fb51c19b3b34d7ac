#pragma once
// Where handlers in the kernel find what they share with spile and with traced processes; the same functions as
// runtime/process/in_process.h has. Included by core/core.h alone.

namespace spile::rt {

inline constexpr bool kIsKernel = true;
inline constexpr bool kReadsKernelMemory = true;
SPILE_INLINE inline bool may_read_kernel(int64_t) { return true; }
inline constexpr uint64_t kFrameSets = abi::kKernelFrameSets;  // core/call_table.h

SPILE_INLINE inline int64_t current_task() { return helper<int64_t (*)()>(BPF_FUNC_get_current_task)(); }
SPILE_INLINE inline int64_t kernel_clock_ns() { return static_cast<int64_t>(monotonic_ns()); }

// A handler in the kernel reaches the arena by the low 32 bits of an address, which are the same wherever it is mapped, so this
// stands for the address in every process (abi/kernel.h).
SPILE_INLINE inline abi::ArenaHeader* arena_header() { return reinterpret_cast<abi::ArenaHeader*>(abi::kKernelArenaBase); }

SPILE_INLINE inline uint64_t slots_end() { return spile_rt_slot_count; }
// Returns the offset of the ModuleMap of the process that the handler interrupts; 0: spile has not read what it has mapped yet.
uint64_t own_module_map(Context* context);
// Fills in the registers (Context::user_pc) with which the interrupted process left user mode; does nothing for a thread of the
// kernel's.
void find_user_registers(Context* context);
// Asks spile to read what the process has mapped. note_cut_stack: and counts a stack that is shown without all its frames.
// send_user_stack: and writes a record by which spile walks the stack itself; false: the ring has no room for it. REQUIRES:
// find_user_registers() has found them.
void note_cut_stack(Context* context);
bool send_user_stack(Context* context, uint32_t style);

// The kernel's stack as it was when the running handler first asked (kernel/stacks.cpp), the innermost frame first.
struct KernelFrames {
  const uint64_t* addresses;
  uint32_t count;
};
SPILE_INLINE inline abi::KernelStack* kernel_stack_of(Context* context) {
  return reinterpret_cast<abi::KernelStack*>(bytes_of(context->slot) + spile_rt_kernel_frame_offset + abi::kKernelFrameSize);
}
// REQUIRES: spile_rt_kernel_stack() has returned true.
SPILE_INLINE inline KernelFrames kernel_frames(Context* context) {
  const abi::KernelStack* stack = kernel_stack_of(context);
  return {reinterpret_cast<const uint64_t*>(stack + 1) + stack->first, stack->count - stack->first};
}

// Handlers in the kernel end with the controller: the kernel closes what it has attached.
SPILE_INLINE inline bool controller_gone(const abi::ArenaHeader*) { return false; }
SPILE_INLINE inline bool may_call_system() { return false; }

// Returns the counter of time, in ticks of the processor's (abi/arena.h), by the kernel's monotonic clock.
inline uint64_t time_counter() {
  const abi::ArenaHeader* header = arena_header();
  uint64_t now = monotonic_ns();
  constexpr int kTries = 3;  // the clock that is read was written a second time meanwhile
  uint64_t ticks = 0;
  for (int tries = 0; tries < kTries; ++tries) {
    uint32_t sequence = load_acquire(&header->clock_sequence);
    const abi::Clock* clock = &header->clocks[sequence % 2];
    uint64_t passed = now - load_relaxed(&clock->base_monotonic);
    uint64_t mult = load_relaxed(&clock->ticks_mult), base = load_relaxed(&clock->base_tsc);
    auto back = static_cast<int64_t>(passed) < 0;
    uint64_t distance = (back ? 0 - passed : passed) * mult >> abi::kTicksShift;
    ticks = back ? base - distance : base + distance;
    if (likely(load_acquire(&header->clock_sequence) == sequence)) break;
  }
  return ticks;
}

// Handlers in the kernel reach nothing but the arena.
SPILE_INLINE inline bool is_confined(const void*, uint64_t, bool) { return true; }

// The lowest level of a CPU has the largest ring.
SPILE_INLINE inline uint64_t ring_size_of(const abi::ThreadSlot* slot) { return slot->ring_size; }
// A handler in the kernel can't wait for the reader of its ring.
SPILE_INLINE inline bool wait_for_room(abi::ThreadSlot*, uint64_t) { return false; }
SPILE_INLINE inline bool drain_own_ring(abi::ThreadSlot*) { return false; }

}  // namespace spile::rt
