#pragma once
// A statistics value (`<<<`), the same in every domain. Only `count` and the fields that the script's extractions need
// (AggregateShape::features) are kept up to date; the others stay 0.

#include <stdint.h>

namespace spile::abi {

enum AggregateFeature : uint32_t {
  kAggregateCount = 1,
  kAggregateSum = 2,
  kAggregateMin = 4,
  kAggregateMax = 8,
  kAggregateVariance = 16,
  kAggregateLog = 32,
  kAggregateLinear = 64,
  kAggregateSketch = 128,  // of @percentile; kAggregateMin and kAggregateMax are then kept, too
};

inline constexpr uint32_t kLogBuckets = 128;         // index 64: value 0; 64+n: [2^(n-1), 2^n); 64-n: (-2^n, -2^(n-1)]
inline constexpr uint32_t kMaxLinearBuckets = 1024;  // beside the underflow and overflow buckets

// Returns the number of buckets of @hist_linear(s, low, high, width) without underflow and overflow, at most kMaxLinearBuckets.
// REQUIRES: width > 0, low <= high.
constexpr uint32_t linear_buckets(int64_t low, int64_t high, int64_t width) {
  uint64_t count = (static_cast<uint64_t>(high) - static_cast<uint64_t>(low)) / static_cast<uint64_t>(width) + 1;
  return count > kMaxLinearBuckets ? kMaxLinearBuckets : static_cast<uint32_t>(count);
}

struct Aggregate {
  uint64_t count;
  int64_t sum;
  int64_t min;  // valid where count > 0
  int64_t max;
  // of @variance: the sum of squares modulo 2^128; kAggregateSum and kAggregateMin are kept, too
  uint64_t squares_low;
  uint64_t squares_high;
  // then buckets: uint64_t[kLogBuckets], or uint64_t[2 + linear buckets]: underflow, buckets, overflow
  // then the sketch: uint64_t[kSketchBuckets]
};
static_assert(sizeof(Aggregate) == 48);

// The sketch of @percentile: how many values lie in each of kSketchBuckets buckets. Magnitudes below 128 have a bucket each;
// above, each power of two is cut into 64 buckets of one width (log-linear, as HdrHistogram does it). The middle of a bucket so
// differs from any value in it by less than 1/128 of that value. Sketches are merged by adding their counts. Buckets outside of
// those of `min` and `max` are 0.
inline constexpr uint32_t kSketchBits = 6;
inline constexpr uint32_t kSketchZero = (63 - kSketchBits + 1) << kSketchBits;  // the bucket of 0; -2^63 is in bucket 0
inline constexpr uint32_t kSketchBuckets = 2 * kSketchZero;
inline constexpr uint32_t kSketchBytes = 8 * kSketchBuckets;

// Returns the bucket of a value, below kSketchBuckets.
constexpr uint32_t sketch_bucket(int64_t value) {
  uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  uint32_t bits = 63 - static_cast<uint32_t>(__builtin_clzll(magnitude | 1));  // the number of the highest bit
  uint32_t shift = bits > kSketchBits ? bits - kSketchBits : 0;
  uint32_t distance = (shift << kSketchBits) + static_cast<uint32_t>(magnitude >> shift);
  return value < 0 ? kSketchZero - distance : kSketchZero + distance;
}

// Returns which of the counts is that of a bucket. Those of 0 and above come first: the counts of short times lie near the count,
// sum, min and max of the same aggregate, mostly in one page.
constexpr uint32_t sketch_place(uint32_t bucket) { return bucket < kSketchZero ? bucket + kSketchZero : bucket - kSketchZero; }

// Returns the middle of a bucket. REQUIRES: bucket < kSketchBuckets.
constexpr int64_t sketch_value(uint32_t bucket) {
  uint64_t distance = bucket < kSketchZero ? kSketchZero - bucket : bucket - kSketchZero;
  uint64_t shift = distance >> kSketchBits;
  shift = shift > 1 ? shift - 1 : 0;
  uint64_t magnitude = ((distance - (shift << kSketchBits)) << shift) + ((uint64_t{1} << shift) >> 1);
  return static_cast<int64_t>(bucket < kSketchZero ? 0 - magnitude : magnitude);
}

}  // namespace spile::abi
