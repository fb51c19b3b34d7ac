// Calls that return probes note, in memory that overwrites itself (abi/call_history.h).

#include "abi/call_history.h"

#include "runtime/core/core.h"

namespace spile::rt {

extern "C" {

// The guard of handlers sees to it that no signal handler's call comes in between.
SPILE_INLINE void spile_rt_call_history_add(Context* context, int64_t begun) {
  if (unlikely(static_cast<uint64_t>(begun) > load_to_compare(&context->arena->calls_until))) return;
  abi::ThreadSlot* slot = context->slot;
  const uint64_t number = slot->noted_calls;
  auto* records = reinterpret_cast<abi::CallRecord*>(bytes_of(slot) + spile_rt_calls_offset);
  abi::CallRecord* record = &records[number & (spile_rt_calls_capacity - 1)];
  record->begun = static_cast<uint64_t>(begun);
  record->stack = context->cfa;
  record->site = static_cast<uint32_t>(context->site_id);
  record->probe = context->probe;
  record->ended = time_counter();
  store_release(&slot->noted_calls, number + 1);
}

SPILE_INLINE bool spile_rt_call_history_stop(Context* context) {
  return compare_and_swap(&context->arena->calls_until, abi::kAllCalls, time_counter());
}

}  // extern "C"

}  // namespace spile::rt
