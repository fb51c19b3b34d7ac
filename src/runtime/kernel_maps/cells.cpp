// Cells of threads: an array of the kernel with a set for each entry.

#include "runtime/kernel_maps/kernel_maps.h"
#include "runtime/thread_cells.h"

namespace spile::rt {

// Null only in the eyes of the verifier.
SPILE_INLINE inline abi::ThreadCellSet* cells_of(Handle map, const MapShape* shape, uint64_t thread) {
  uint32_t index = static_cast<uint32_t>(thread) & (shape->buckets - 1);
  return static_cast<abi::ThreadCellSet*>(lookup(map, &index));
}

extern "C" {

SPILE_INLINE uint64_t spile_rt_own_thread(Context*) { return running_thread(); }

// What handlers below this one have written was there before this one began, as they run on the same processor.
SPILE_INLINE uint64_t spile_rt_begin_own(Context* context) {
  abi::KernelState* state = state_of(context);
  uint64_t thread = running_thread();
  uint32_t level = level_of(context);
  for (uint32_t below = 0; below < abi::kKernelLevels - 1; ++below) {
    if (below < level && state->owners[below] == thread) {
      count_skip(abi::kSkipReentrant);
      return 0;
    }
  }
  if (level < abi::kKernelLevels) *static_cast<volatile uint64_t*>(&state->owners[level]) = thread;
  return thread;
}
SPILE_INLINE void spile_rt_end_own(Context* context) {
  uint32_t level = level_of(context);
  if (level < abi::kKernelLevels) *static_cast<volatile uint64_t*>(&state_of(context)->owners[level]) = 0;
}

SPILE_INLINE int64_t* spile_rt_cell_find(Context*, Handle map, const MapShape* shape, uint64_t thread) {
  abi::ThreadCellSet* set = cells_of(map, shape, thread);
  abi::ThreadCell* cell = set ? cell_of(set, thread) : nullptr;
  return cell ? &cell->value : nullptr;
}
SPILE_INLINE int64_t* spile_rt_cell_insert(Context*, Handle map, const MapShape* shape, uint64_t thread) {
  abi::ThreadCellSet* set = cells_of(map, shape, thread);
  if (!set) return nullptr;
  abi::ThreadCell* cell = cell_of(set, thread);
  if (!cell) cell = take_cell(set, thread);
  return cell ? &cell->value : nullptr;
}
SPILE_INLINE void spile_rt_cell_remove(Context*, Handle map, const MapShape* shape, uint64_t thread) {
  abi::ThreadCellSet* set = cells_of(map, shape, thread);
  if (abi::ThreadCell* cell = set ? cell_of(set, thread) : nullptr) give_cell(cell);
}

}  // extern "C"

}  // namespace spile::rt
