// A handler's life in the kernel: the level of its CPU, whose slot is its own while it runs.
//
// An interrupt's handler may run in the middle of ours, and, where the kernel lets programs be preempted (fentry, uprobes),
// another task's on the same CPU; each takes the next level. Taking a level is one compare-and-swap, which is a full barrier:
// after it, either the handler sees the new epoch, or the controller, which flips the epoch and then looks at `busy`, sees the
// handler.

#include "runtime/core/core.h"

namespace spile::rt {

namespace {

SPILE_INLINE inline abi::ThreadSlot* kernel_slot(abi::ArenaHeader* header, uint32_t cpu, uint32_t level) {
  return slot_at(header, abi::kFirstSlot + uint64_t{cpu} * abi::kKernelLevels + level);
}

SPILE_INLINE inline Context* context_in(abi::ThreadSlot* slot) {
  return reinterpret_cast<Context*>(bytes_of(slot) + spile_rt_kernel_frame_offset);
}

// The lowest level of this CPU that no handler has, and its number; null: all are taken (counted).
SPILE_INLINE inline abi::ThreadSlot* take_level(abi::ArenaHeader* header, uint32_t epoch, uint32_t* taken) {
  uint32_t cpu = current_cpu();
  abi::ThreadSlot* slot = kernel_slot(header, cpu, 0);
  *taken = 0;
  if (likely(compare_and_swap(&slot->busy, 0u, 1 + epoch))) return slot;
  abi::ThreadSlot* lowest = slot;
  for (uint32_t level = 1; level < abi::kKernelLevels; ++level) {
    slot = kernel_slot(header, cpu, level);
    *taken = level;
    if (compare_and_swap(&slot->busy, 0u, 1 + epoch)) return slot;
  }
  __atomic_fetch_add(&lowest->skipped[abi::kSkipReentrant], 1, __ATOMIC_RELAXED);
  return nullptr;
}

}  // namespace

extern "C" {

// Takes a level and returns the handler's context, which lies in the level's slot; null: the session is not enabled (not
// counted), or all levels are taken (counted).
SPILE_INLINE Context* spile_rt_kernel_enter(uint32_t probe) {
  abi::ArenaHeader* header = arena_header();
  if (unlikely(!load_relaxed(&header->enabled))) return nullptr;
  uint32_t epoch = load_relaxed(&header->epoch);
  uint32_t level;
  abi::ThreadSlot* slot = take_level(header, epoch, &level);
  if (unlikely(!slot)) return nullptr;
  for (uint32_t now; unlikely((now = load_relaxed(&header->epoch)) != epoch); epoch = now) {
    __atomic_exchange_n(&slot->busy, 1 + now, __ATOMIC_SEQ_CST);
  }
  slot->scratch_top = slot->identity = 0;  // whatever a handler that the kernel ended has left
  Context* context = context_in(slot);
  context->arena = header;
  context->slot = slot;
  context->epoch = epoch & 1;
  context->overflow = 0;
  context->held = static_cast<uint8_t>(level);
  context->probe = probe;
  context->frame_kind = 0;
  context->pending = abi::kNoDepth;
  return context;
}

SPILE_INLINE void spile_rt_kernel_leave(Context* context) { store_release(&context->slot->busy, 0u); }

// The lowering asks these of handlers everywhere; here kernel_enter has done it all.
SPILE_INLINE bool spile_rt_enter(Context*) { return true; }
SPILE_INLINE bool spile_rt_enter_light(Context*) { return true; }
SPILE_INLINE void spile_rt_leave_light(Context*) {}

}  // extern "C"

}  // namespace spile::rt
