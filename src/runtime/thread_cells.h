#pragma once
// Cells of threads (abi/thread_cells.h), for handlers in the kernel: what kernel/ and kernel_maps/ have in common.

#include "abi/thread_cells.h"
#include "runtime/kernel_identity.h"

namespace spile::rt {

// Returns what names the running thread: its number in the initial PID namespace. Each processor has an idle thread, all of them
// with the number 0.
[[gnu::always_inline]] inline uint64_t running_thread() {
  uint64_t thread = current_pid_tgid() & 0xffffffff;
  return thread ? thread : uint64_t{1} << 32 | current_cpu();
}

[[gnu::always_inline]] inline uint64_t owner_of(const abi::ThreadCell* cell) {
  return *static_cast<const volatile uint64_t*>(&cell->owner);
}

// Returns the thread's cell; null: the thread has none.
[[gnu::always_inline]] inline abi::ThreadCell* cell_of(abi::ThreadCellSet* set, uint64_t thread) {
#pragma clang loop unroll(full)
  for (uint32_t way = 0; way < abi::kCellWays; ++way) {
    if (owner_of(&set->cells[way]) == thread) return &set->cells[way];
  }
  return nullptr;
}

// Returns a cell that the thread has taken, with the value 0; null: other threads have all of them. REQUIRES: the thread has
// none.
[[gnu::always_inline]] inline abi::ThreadCell* take_cell(abi::ThreadCellSet* set, uint64_t thread) {
#pragma clang loop unroll(full)
  for (uint32_t way = 0; way < abi::kCellWays; ++way) {
    abi::ThreadCell* cell = &set->cells[way];
    if (owner_of(cell) != 0 || __sync_val_compare_and_swap(&cell->owner, uint64_t{0}, thread) != 0) continue;
    cell->value = 0;
    return cell;
  }
  return nullptr;
}

// The cell is free for all threads of its set, after what has been read from it. The processor does not swap the two.
[[gnu::always_inline]] inline void give_cell(abi::ThreadCell* cell) {
  asm volatile("" ::: "memory");
  *static_cast<volatile uint64_t*>(&cell->owner) = 0;
}

}  // namespace spile::rt
