#pragma once
// Where the runtime finds what it shares with others, in processes and in spile itself. runtime/kernel/in_kernel.h has the same
// functions for handlers in the kernel. Included by core/core.h alone.

namespace spile::rt {

inline constexpr bool kIsKernel = false;
inline constexpr bool kReadsKernelMemory = false;
// The kernel's own addresses are in the upper half.
SPILE_INLINE inline bool is_kernel_address(uint64_t address) { return static_cast<int64_t>(address) < 0; }
// Whether kernel_long() and its kin may load from there: of handlers outside of the kernel, those in spile itself
// (process/load.cpp).
SPILE_INLINE inline bool may_read_kernel(int64_t address) { return spile_rt_in_controller && address < 0; }
inline constexpr uint64_t kFrameSets = abi::kGoroutineSets;  // call_table.h

// The address of the kernel's structure for the thread, and ns since boot; 0: only handlers in the kernel can ask for them.
inline constexpr int64_t current_task() { return 0; }
inline constexpr int64_t interrupt_flow() { return 0; }
inline constexpr int64_t idle_flow() { return 0; }
inline constexpr int64_t kernel_clock_ns() { return 0; }

extern "C" {
// The image's first bytes. Volatile: the engine writes them after compilation, behind the optimizer's back.
SPILE_HIDDEN extern volatile abi::ImageCells spile_cells;
}

// The engine, or session for the controller, fills in the cells before any handler can run. REQUIRES, for process_table: in a
// target.
SPILE_INLINE inline abi::ArenaHeader* arena_header() {
  return reinterpret_cast<abi::ArenaHeader*>(static_cast<uintptr_t>(spile_cells.arena));
}
SPILE_INLINE inline abi::ProcessTable* process_table() {
  return reinterpret_cast<abi::ProcessTable*>(static_cast<uintptr_t>(spile_cells.process_table));
}
// Returns the number behind the last slot that this process has mapped: a forked child sees its parent's.
SPILE_INLINE inline uint64_t slots_end() {
  if (spile_rt_in_controller) return spile_rt_slot_count;
  auto* state = reinterpret_cast<const abi::InheritedState*>(bytes_of(process_table()) + abi::kInheritedOffset);
  uint64_t slots = __atomic_load_n(&state->slots, __ATOMIC_ACQUIRE);
  return slots < abi::kMostSlots ? slots : abi::kMostSlots;
}

// Returns the offset of the ModuleMap of the handler's own process (abi/stack_tables.h); 0: it has none yet. REQUIRES: in a
// target.
SPILE_INLINE inline uint64_t own_module_map(Context*) { return load_acquire(&process_table()->module_map); }
// The lowering has filled in the registers (Context::user_pc), and all modules are known (runtime/kernel/in_kernel.h).
SPILE_INLINE inline void find_user_registers(Context*) {}
SPILE_INLINE inline void note_cut_stack(Context*) {}
SPILE_INLINE inline bool send_user_stack(Context*, uint32_t) { return false; }
// Returns the kernel's stack, which handlers outside of the kernel don't have (runtime/kernel/in_kernel.h).
struct KernelFrames {
  const uint64_t* addresses;
  uint32_t count;
};
SPILE_INLINE inline KernelFrames kernel_frames(Context*) { return {nullptr, 0}; }

// The controller has died: nobody catches faults, drains rings or frees locks any more.
SPILE_INLINE inline bool controller_gone(const abi::ArenaHeader* header) {
  return unlikely(load_relaxed(&header->controller_futex[0]) & kOwnerDied);
}

// Handlers in a process make no system calls: a seccomp filter, which the process has or puts on later, might end it for one.
SPILE_INLINE inline constexpr bool may_call_system() { return spile_rt_in_controller; }

// Asks the controller, in a target (abi/questions.h). `what` and what it takes are set. False: nobody answers.
SPILE_COLD bool ask_controller(abi::Question* question);
// The same for a question whose answer is a number; -1: not known.
int64_t ask_number(abi::Question::What what, int64_t argument = 0);
// Returns how the calling thread is called and whose it is, in a target: what is kept of earlier answers, or in `room`. Null:
// nobody answers.
const abi::ThreadValues* values_of_thread(Context* context, abi::Question* room);

// Returns about what the counter has, for a thread that may not read it (prctl PR_SET_TSC, strict seccomp mode).
SPILE_COLD uint64_t estimate_counter();

// Returns the counter of time, in its ticks (about 3 a ns); never the same twice in a thread, so that what waits until it has
// grown comes to an end.
SPILE_INLINE inline uint64_t time_counter() {
  uint64_t value;
  return read_counter(&value) ? value : estimate_counter();
}

// Whether handlers of the controller may access these bytes (confine.cpp).
bool is_confined(const void* place, uint64_t size, bool writes);

// -- the output ring

SPILE_INLINE inline uint64_t ring_size_of(const abi::ThreadSlot*) { return spile_rt_ring_size; }

// The ring is full: waits for the controller to make room, as long as it gets on with it; it can't sleep, as it makes no system
// call. A controller that takes nothing out for kPatience (it is stopped, or waits for the reader of its own output) is not
// waited for again until it does: the thread then loses records, which are counted, rather than time.
inline constexpr uint64_t kPatience = 750'000'000;  // TSC ticks: about 250 ms, what a busy machine may keep spile waiting

SPILE_INLINE inline bool wait_for_room(abi::ThreadSlot* slot, uint64_t needed) {
  if (spile_rt_in_controller) return false;
  uint64_t tail = load_acquire(&slot->ring_tail);
  if (slot->ring_waited == tail + 1) return false;
  uint64_t start = time_counter();
  while (slot->ring_head + needed - tail > spile_rt_ring_size) {
    for (int turn = 0; turn < 64; ++turn) pause_cpu();
    uint64_t now = load_acquire(&slot->ring_tail);
    if (now != tail) {
      tail = now;
      start = time_counter();
    } else if (time_counter() - start > kPatience || controller_gone(arena_header())) {
      slot->ring_waited = tail + 1;
      return false;
    }
  }
  return true;
}

// In the controller: has the host empty the ring. False: somebody else empties it, or not all was taken out.
SPILE_INLINE inline bool drain_own_ring(abi::ThreadSlot* slot) {
  if (!spile_rt_in_controller || !spile_cells.host_drain) return false;
  using Drain = void (*)(void*);
  reinterpret_cast<Drain>(static_cast<uintptr_t>(spile_cells.host_drain))(
      reinterpret_cast<void*>(static_cast<uintptr_t>(spile_cells.host_context)));
  return slot->ring_head == load_acquire(&slot->ring_tail);
}

}  // namespace spile::rt
