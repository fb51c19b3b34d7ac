// Scratch memory, and where scalars and strings are kept.

#include "runtime/core/core.h"

namespace spile::rt {

extern "C" {

SPILE_INLINE uint64_t spile_rt_frame_mark(Context* context) { return context->slot->scratch_top; }

SPILE_INLINE void* spile_rt_frame(Context* context, uint32_t bytes) {
  uint64_t top = context->slot->scratch_top;
  uint64_t next = top + ((static_cast<uint64_t>(bytes) + 15) & ~uint64_t{15});
  if (unlikely((top > spile_rt_scratch_size) | (next > spile_rt_scratch_size))) return nullptr;
  context->slot->scratch_top = next;
  return bytes_of(context->slot) + spile_rt_scratch_offset + top;
}

SPILE_INLINE void spile_rt_frame_release(Context* context, uint64_t mark) { context->slot->scratch_top = mark; }

SPILE_INLINE Handle spile_rt_shared(Context* context, uint64_t offset) { return bytes_of(context->arena) + offset; }

SPILE_INLINE Handle spile_rt_shard(Context* context, uint64_t offset) {
  return bytes_of(context->slot) + spile_rt_shards_offset + offset;
}

SPILE_INLINE Handle spile_rt_epoch_shard(Context* context, uint64_t offset) {
  return bytes_of(context->slot) + spile_rt_shards_offset + offset +
         static_cast<uint64_t>(context->epoch) * spile_rt_epoch_stride;
}

SPILE_INLINE int64_t spile_rt_long_get(Context*, Handle handle) { return load_relaxed(static_cast<int64_t*>(handle)); }
SPILE_INLINE void spile_rt_long_set(Context*, Handle handle, int64_t value) {
  store_relaxed(static_cast<int64_t*>(handle), value);
}
SPILE_INLINE void spile_rt_long_add(Context*, Handle handle, int64_t value) {
  add_in_place(static_cast<uint64_t*>(handle), static_cast<uint64_t>(value));
}

SPILE_INLINE const char* spile_rt_string_get(Context*, Handle handle) { return static_cast<const char*>(handle); }
SPILE_INLINE void spile_rt_string_set(Context*, Handle handle, const char* value) {
  spile_rt_string_copy(static_cast<char*>(handle), value);
}

}  // extern "C"

}  // namespace spile::rt
