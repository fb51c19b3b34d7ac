// Cells of threads, in the arena.

#include "runtime/core/core.h"
#include "runtime/thread_cells.h"

namespace spile::rt {

namespace {

SPILE_INLINE inline abi::ThreadCellSet* cells_of(Handle cells, const MapShape* shape, uint64_t thread) {
  return static_cast<abi::ThreadCellSet*>(cells) + (static_cast<uint32_t>(thread) & (shape->buckets - 1));
}

// A handler of this processor, below the running one, uses cells of the same thread: the running handler has interrupted it.
[[gnu::noinline, gnu::cold]] bool interrupts_itself(Context* context, uint64_t thread) {
  char* slot = bytes_of(context->slot);
  for (uint32_t level = context->held; level > 0; --level) {
    slot -= spile_rt_slot_stride;
    if (reinterpret_cast<abi::ThreadSlot*>(slot)->identity == thread) return true;
  }
  return false;
}

}  // namespace

extern "C" {

SPILE_INLINE uint64_t spile_rt_own_thread(Context*) { return running_thread(); }

SPILE_INLINE uint64_t spile_rt_begin_own(Context* context) {
  uint64_t thread = running_thread();
  if (unlikely(context->held) && interrupts_itself(context, thread)) {
    count_skip(context->slot, abi::kSkipReentrant);
    return 0;
  }
  store_relaxed(&context->slot->identity, thread);
  return thread;
}
SPILE_INLINE void spile_rt_end_own(Context* context) { store_relaxed(&context->slot->identity, uint64_t{0}); }

SPILE_INLINE int64_t* spile_rt_cell_find(Context*, Handle cells, const MapShape* shape, uint64_t thread) {
  abi::ThreadCell* cell = cell_of(cells_of(cells, shape, thread), thread);
  return cell ? &cell->value : nullptr;
}
SPILE_INLINE int64_t* spile_rt_cell_insert(Context*, Handle cells, const MapShape* shape, uint64_t thread) {
  abi::ThreadCellSet* set = cells_of(cells, shape, thread);
  abi::ThreadCell* cell = cell_of(set, thread);
  if (!cell) cell = take_cell(set, thread);
  return cell ? &cell->value : nullptr;
}
SPILE_INLINE void spile_rt_cell_remove(Context*, Handle cells, const MapShape* shape, uint64_t thread) {
  if (abi::ThreadCell* cell = cell_of(cells_of(cells, shape, thread), thread)) give_cell(cell);
}

}  // extern "C"

}  // namespace spile::rt
