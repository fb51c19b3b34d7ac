// Scalars: one element of an array, per CPU and shard where it is sharded. A Handle is the element's address, or null.

#include "runtime/aggregate_update.h"
#include "runtime/kernel_maps/kernel_maps.h"

namespace spile::rt {

extern "C" {

// Elements of the maps that hold a global: the lowering's way to a Handle.
SPILE_INLINE Handle spile_rt_kernel_shard(Context* context, void* map) { return shard_cell(context, map); }
SPILE_INLINE Handle spile_rt_kernel_shared(Context*, void* map) {
  uint32_t zero = 0;
  return lookup(map, &zero);
}

SPILE_INLINE int64_t spile_rt_long_get(Context*, Handle handle) { return handle ? *static_cast<volatile int64_t*>(handle) : 0; }
SPILE_INLINE void spile_rt_long_set(Context*, Handle handle, int64_t value) {
  if (handle) *static_cast<volatile int64_t*>(handle) = value;
}
SPILE_INLINE void spile_rt_long_add(Context*, Handle handle, int64_t value) {
  if (handle) __sync_fetch_and_add(static_cast<int64_t*>(handle), value);
}

SPILE_INLINE const char* spile_rt_string_get(Context*, Handle handle) { return handle ? static_cast<const char*>(handle) : ""; }
SPILE_INLINE void spile_rt_string_set(Context*, Handle handle, const char* value) {
  if (handle) spile_rt_string_copy(static_cast<char*>(handle), value);
}

// Empty ones too: the lowering writes into what it gets here.
SPILE_INLINE abi::Aggregate* spile_rt_aggregate_get(Context*, Handle handle) { return static_cast<abi::Aggregate*>(handle); }

SPILE_INLINE void spile_rt_aggregate_add(abi::Aggregate* aggregate, const AggregateShape* shape, int64_t value) {
  if (!aggregate) return;
  update_scalars(aggregate, shape, value);
  if (shape->features & abi::kAggregateLog) {
    uint32_t bucket = opaque(log_bucket(value));
    if (bucket < abi::kLogBuckets) ++buckets_of(aggregate)[bucket];
  }
  if (shape->features & abi::kAggregateLinear) {
    uint32_t bucket = opaque(linear_bucket(shape, value));
    if (bucket < shape->linear_buckets + 2) ++buckets_of(aggregate)[bucket];
  }
}

SPILE_INLINE void spile_rt_aggregate_clear(abi::Aggregate* aggregate, const AggregateShape* shape) {
  for (uint32_t at = 0; at < shape->size; at += 8) {
    *reinterpret_cast<volatile uint64_t*>(reinterpret_cast<char*>(aggregate) + at) = 0;
  }
}

SPILE_INLINE int64_t spile_rt_aggregate_variance(const abi::Aggregate* aggregate, const AggregateShape*) {
  return variance_of(aggregate, aggregate->count);
}

}  // extern "C"

}  // namespace spile::rt
