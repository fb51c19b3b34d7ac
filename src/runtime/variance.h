#pragma once
// @variance of an aggregate (abi/aggregate.h), exact for whole numbers: the sample variance (n - 1), rounded down.
//
// An aggregate keeps n, the sum S modulo 2^64, the sum Q of squares modulo 2^128, and the least value b. Differences from b
// are not negative, so their sum D = S - nb is exact below 2^64, and their squares' sum is Q - nb^2 - 2bD below 2^128. With
// D = nq + r, the sum of squared differences from the mean is that minus q(D + r) + r^2/n. Numbers of 128 bits are pairs of
// 64 bits here: eBPF has no others, and no signed division before Linux 6.6.

#include <stdint.h>

#include "abi/aggregate.h"

namespace spile::rt {

struct Wide {
  uint64_t low, high;
};

// Returns a * b.
[[gnu::always_inline]] inline Wide multiply_whole(uint64_t a, uint64_t b) {
  uint64_t a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
  uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (middle & 0xffffffff);
  return {a * b, a1 * b1 + (middle >> 32) + (other >> 32)};
}

// Return a + b and a - b, modulo 2^128.
[[gnu::always_inline]] inline Wide add_wide(Wide a, Wide b) {
  uint64_t low = a.low + b.low;
  return {low, a.high + b.high + (low < a.low)};
}
[[gnu::always_inline]] inline Wide subtract_wide(Wide a, Wide b) { return {a.low - b.low, a.high - b.high - (a.low < b.low)}; }

// Returns a digit of a quotient, and replaces `rest` by what remains: rest:next / divisor, by the divisor's upper half and two
// corrections. REQUIRES: the divisor's highest bit is set, rest < divisor, next < 2^32.
[[gnu::always_inline]] inline uint64_t divide_digit(uint64_t& rest, uint64_t next, uint64_t divisor) {
  const uint64_t upper = divisor >> 32, lower = divisor & 0xffffffff;
  uint64_t digit = rest / upper, left = rest % upper;
  if (digit > 0xffffffff || digit * lower > (left << 32 | next)) {
    --digit, left += upper;
    if (left <= 0xffffffff && (digit > 0xffffffff || digit * lower > (left << 32 | next))) --digit;
  }
  rest = (rest << 32 | next) - digit * divisor;
  return digit;
}

// Returns a / divisor: D. Knuth, The Art of Computer Programming 2, 4.3.1, algorithm D, of two digits of 32 bits. REQUIRES:
// a.high < divisor.
[[gnu::always_inline]] inline uint64_t divide_wide(Wide a, uint64_t divisor) {
  const auto shift = static_cast<uint32_t>(__builtin_clzll(divisor | 1));
  uint64_t rest = shift ? a.high << shift | a.low >> (64 - shift) : a.high;
  const uint64_t low = a.low << shift;
  const uint64_t first = divide_digit(rest, low >> 32, divisor << shift);
  return first << 32 | divide_digit(rest, low & 0xffffffff, divisor << shift);
}

// Returns the variance of an aggregate, of which another thread may change the fields: 0 of fewer than two values, the largest
// number where it has more than 63 bits.
[[gnu::always_inline]] inline int64_t variance_of(const abi::Aggregate* aggregate, uint64_t count) {
  if (count < 2) return 0;
  const int64_t least = aggregate->min;
  const uint64_t base = least < 0 ? -static_cast<uint64_t>(least) : static_cast<uint64_t>(least);
  const uint64_t sum = static_cast<uint64_t>(aggregate->sum) - count * static_cast<uint64_t>(least);

  const Wide square = multiply_whole(base, base);
  Wide of_base = multiply_whole(square.low, count), mixed = multiply_whole(base, sum);
  of_base.high += square.high * count;
  mixed = add_wide(mixed, mixed);
  Wide squares = subtract_wide({aggregate->squares_low, aggregate->squares_high}, of_base);
  squares = least < 0 ? add_wide(squares, mixed) : subtract_wide(squares, mixed);

  const uint64_t mean = sum / count, rest = sum - mean * count;
  const Wide of_rest = multiply_whole(rest, rest);
  const uint64_t part = divide_wide(of_rest, count);
  Wide taken = multiply_whole(mean, sum);
  taken = add_wide(taken, multiply_whole(mean, rest));
  taken = add_wide(taken, {part + (part * count != of_rest.low), 0});
  const bool is_torn = squares.high < taken.high || (squares.high == taken.high && squares.low < taken.low);
  if (is_torn) return 0;
  squares = subtract_wide(squares, taken);
  constexpr auto kMost = static_cast<uint64_t>(INT64_MAX);
  if (squares.high >= count - 1) return INT64_MAX;
  const uint64_t variance = divide_wide(squares, count - 1);
  return static_cast<int64_t>(variance > kMost ? kMost : variance);
}

}  // namespace spile::rt
