#pragma once
// Adding a value to a statistics value (abi/aggregate.h), for every place where handlers run. Inlined with a constant
// shape, so only what the script extracts is left. REQUIRES: one writer of an aggregate at a time. Sums wrap around.

#include <stdint.h>

#include "abi/aggregate.h"
#include "abi/handler.h"
#include "runtime/variance.h"

namespace spile::rt {

#define SPILE_UPDATE [[gnu::always_inline]] inline

// Returns the counts of the histogram's buckets, behind the scalars. REQUIRES: the shape has a histogram.
SPILE_UPDATE uint64_t* buckets_of(abi::Aggregate* aggregate) { return reinterpret_cast<uint64_t*>(aggregate + 1); }

// Returns the counts of the sketch, the last bytes of an aggregate. size: AggregateShape::size, or MapShape::value_size.
// REQUIRES: the shape has kAggregateSketch.
SPILE_UPDATE uint64_t* sketch_of(abi::Aggregate* aggregate, uint32_t size) {
  return reinterpret_cast<uint64_t*>(reinterpret_cast<char*>(aggregate) + (size - abi::kSketchBytes));
}

// Returns the index of a value's bucket in @hist_log, below kLogBuckets: 0 is in the middle, and its distance from there is the
// number of bits of the value's magnitude.
SPILE_UPDATE uint32_t log_bucket(int64_t value) {
  if (value == 0) return abi::kLogBuckets / 2;
  uint64_t magnitude = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  uint32_t bits = 64 - static_cast<uint32_t>(__builtin_clzll(magnitude));
  return value < 0 ? abi::kLogBuckets / 2 - bits : abi::kLogBuckets / 2 + bits;
}

// Returns the index of a value's bucket in @hist_linear: 0 below `low`, linear_buckets + 1 above the last one. REQUIRES: width >
// 0.
SPILE_UPDATE uint32_t linear_bucket(const abi::AggregateShape* shape, int64_t value) {
  // The last bucket is a whole one, though `high` is its beginning.
  if (value < shape->low) return 0;
  uint64_t offset = static_cast<uint64_t>(value) - static_cast<uint64_t>(shape->low);
  uint64_t bucket = offset / static_cast<uint64_t>(shape->width);
  return bucket < shape->linear_buckets ? 1 + static_cast<uint32_t>(bucket) : shape->linear_buckets + 1;
}

SPILE_UPDATE void add_square(abi::Aggregate* aggregate, int64_t value) {
  const uint64_t magnitude = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const Wide squares = add_wide({aggregate->squares_low, aggregate->squares_high}, multiply_whole(magnitude, magnitude));
  aggregate->squares_low = squares.low;
  aggregate->squares_high = squares.high;
}

// Adds a value to everything but the buckets.
SPILE_UPDATE void update_scalars(abi::Aggregate* aggregate, const abi::AggregateShape* shape, int64_t value) {
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
  if (features & abi::kAggregateVariance) add_square(aggregate, value);
}

#undef SPILE_UPDATE

}  // namespace spile::rt
