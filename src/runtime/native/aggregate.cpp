// Statistics values (abi/aggregate.h). `add` is inlined with a constant shape, so only what the script extracts is left.
//
// @variance: Welford's algorithm in integers, over values shifted left by `bits`, as SystemTap documents it; the sample
// variance (n - 1). Shards are joined by Chan's formula.

#include "runtime/native/native.h"

namespace spile::rt {

namespace {

using abi::Aggregate;
using abi::AggregateShape;

SPILE_INLINE inline uint64_t* buckets_of(Aggregate* aggregate) { return reinterpret_cast<uint64_t*>(aggregate + 1); }

SPILE_INLINE inline uint32_t log_bucket(int64_t value) {
  if (value == 0) return abi::kLogBuckets / 2;
  uint64_t magnitude = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  uint32_t bits = 64 - static_cast<uint32_t>(__builtin_clzll(magnitude));
  return value < 0 ? abi::kLogBuckets / 2 - bits : abi::kLogBuckets / 2 + bits;
}

SPILE_INLINE inline uint32_t linear_bucket(const AggregateShape* shape, int64_t value) {
  if (value < shape->low) return 0;
  if (value > shape->high) return shape->linear_buckets + 1;
  uint64_t offset = static_cast<uint64_t>(value) - static_cast<uint64_t>(shape->low);
  uint64_t bucket = offset / static_cast<uint64_t>(shape->width);
  return bucket < shape->linear_buckets ? 1 + static_cast<uint32_t>(bucket) : shape->linear_buckets + 1;
}

// a * b / c in 128 bits, saturated.
uint64_t multiply_divide(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t low, high;
  asm("mulq %3" : "=a"(low), "=d"(high) : "a"(a), "r"(b) : "cc");
  if (high >= c) return ~uint64_t{0};
  uint64_t quotient, rest;
  asm("divq %4" : "=a"(quotient), "=d"(rest) : "a"(low), "d"(high), "r"(c) : "cc");
  return quotient;
}

[[gnu::noinline]] void merge_variance(Aggregate* to, const Aggregate* shard) {
  uint64_t a = to->count, b = shard->count;
  int64_t delta = static_cast<int64_t>(static_cast<uint64_t>(shard->mean_scaled) - static_cast<uint64_t>(to->mean_scaled));
  uint64_t distance = delta < 0 ? -static_cast<uint64_t>(delta) : static_cast<uint64_t>(delta);
  uint64_t step = multiply_divide(distance, b, a + b);
  to->mean_scaled = static_cast<int64_t>(static_cast<uint64_t>(to->mean_scaled) + (delta < 0 ? -step : step));
  uint64_t square = distance > 0xffffffff ? ~uint64_t{0} : distance * distance;
  uint64_t more = a < b ? a : b, most = a < b ? b : a;
  uint64_t added = multiply_divide(square, most, a + b) * more;
  to->squares_scaled = static_cast<int64_t>(static_cast<uint64_t>(to->squares_scaled) +
                                            static_cast<uint64_t>(shard->squares_scaled) + added);
}

SPILE_INLINE inline void add_variance(Aggregate* aggregate, const AggregateShape* shape, int64_t value) {
  uint64_t scaled = static_cast<uint64_t>(value) << shape->bits;
  int64_t delta = static_cast<int64_t>(scaled - static_cast<uint64_t>(aggregate->mean_scaled));
  // count is at least 1: this value has been counted.
  aggregate->mean_scaled += delta / static_cast<int64_t>(aggregate->count);
  uint64_t rest = scaled - static_cast<uint64_t>(aggregate->mean_scaled);
  aggregate->squares_scaled =
      static_cast<int64_t>(static_cast<uint64_t>(aggregate->squares_scaled) + static_cast<uint64_t>(delta) * rest);
}

}  // namespace

extern "C" {

SPILE_INLINE Aggregate* spile_rt_aggregate_get(Context*, Handle handle) {
  Aggregate* aggregate = static_cast<Aggregate*>(handle);
  return aggregate->count ? aggregate : nullptr;
}

SPILE_INLINE void spile_rt_aggregate_add(Aggregate* aggregate, const AggregateShape* shape, int64_t value) {
  uint32_t features = shape->features;
  uint64_t before = aggregate->count;
  aggregate->count = before + 1;
  if (features & abi::kAggregateSum) {
    aggregate->sum = static_cast<int64_t>(static_cast<uint64_t>(aggregate->sum) + static_cast<uint64_t>(value));
  }
  if (features & abi::kAggregateMin) {
    int64_t least = aggregate->min;
    aggregate->min = ((before == 0) | (value < least)) ? value : least;
  }
  if (features & abi::kAggregateMax) {
    int64_t most = aggregate->max;
    aggregate->max = ((before == 0) | (value > most)) ? value : most;
  }
  if (features & abi::kAggregateVariance) add_variance(aggregate, shape, value);
  if (features & abi::kAggregateLog) ++buckets_of(aggregate)[log_bucket(value)];
  if (features & abi::kAggregateLinear) ++buckets_of(aggregate)[linear_bucket(shape, value)];
}

void spile_rt_aggregate_clear(Aggregate* aggregate, const AggregateShape* shape) { zero_bytes(aggregate, shape->size); }

int64_t spile_rt_aggregate_variance(const Aggregate* aggregate, const AggregateShape* shape) {
  if (aggregate->count < 2) return 0;
  int64_t scaled = aggregate->squares_scaled / static_cast<int64_t>(aggregate->count - 1);
  return shape->bits >= 32 ? 0 : scaled >> (2 * shape->bits);
}

[[gnu::noinline]] void spile_rt_aggregate_merge(Aggregate* to, Aggregate* shard, const AggregateShape* shape) {
  if (!shard->count) return;
  if (!to->count) {
    copy_bytes(to, shard, shape->size);
  } else {
    if (shape->features & abi::kAggregateVariance) merge_variance(to, shard);
    to->count += shard->count;
    to->sum = static_cast<int64_t>(static_cast<uint64_t>(to->sum) + static_cast<uint64_t>(shard->sum));
    if (shard->min < to->min) to->min = shard->min;
    if (shard->max > to->max) to->max = shard->max;
    uint64_t count = (shape->size - sizeof(Aggregate)) / sizeof(uint64_t);
    for (uint64_t i = 0; i < count; ++i) buckets_of(to)[i] += buckets_of(shard)[i];
  }
  zero_bytes(shard, shape->size);
}

}  // extern "C"

}  // namespace spile::rt
