#pragma once
// A statistics value (`<<<`), the same in every domain. Only `count` and the fields that the script's extractions need
// (AggregateShape::features) are kept up to date; the others stay 0.

#include <stdint.h>

namespace spile::abi {

enum AggregateFeature : uint32_t {
  kAggregateCount = 1, kAggregateSum = 2, kAggregateMin = 4, kAggregateMax = 8, kAggregateVariance = 16,
  kAggregateLog = 32, kAggregateLinear = 64,
};

inline constexpr uint32_t kLogBuckets = 128;       // index 64: value 0; 64+n: [2^(n-1), 2^n); 64-n: (-2^n, -2^(n-1)]
inline constexpr uint32_t kMaxLinearBuckets = 1024; // beside the underflow and overflow buckets

// Returns the number of buckets of @hist_linear(s, low, high, width) without underflow and overflow, at most kMaxLinearBuckets.
// REQUIRES: width > 0, low <= high.
constexpr uint32_t linear_buckets(int64_t low, int64_t high, int64_t width) {
  uint64_t count = (static_cast<uint64_t>(high) - static_cast<uint64_t>(low)) / static_cast<uint64_t>(width) + 1;
  return count > kMaxLinearBuckets ? kMaxLinearBuckets : static_cast<uint32_t>(count);
}

struct Aggregate {
  uint64_t count;
  int64_t sum;
  int64_t min;   // valid where count > 0
  int64_t max;
  int64_t mean_scaled;     // of @variance: running mean << bits, and sum of squared differences << 2 * bits (AggregateShape::bits)
  int64_t squares_scaled;
  // then buckets: uint64_t[kLogBuckets], or uint64_t[2 + linear buckets]: underflow, buckets, overflow
};
static_assert(sizeof(Aggregate) == 48);

}  // namespace spile::abi
