// Floating point for scripts: doubles in longs, by integer instructions only, since handlers own no vector registers.
// IEEE 754 binary64, rounding to nearest, ties to even. A NaN is any of them; results that are none are kQuietNan.
//
// A number is unpacked into sign, exponent and a significand whose leading one is bit 62 of 64: value = significand *
// 2^(exponent - 62). What was cut off below is kept by setting the lowest bit ("sticky").

#include "runtime/core/script_functions.h"

namespace spile::rt {

namespace {

inline constexpr uint64_t kSignBit = uint64_t{1} << 63, kInfinity = uint64_t{0x7ff} << 52;
inline constexpr uint64_t kFractionMask = (uint64_t{1} << 52) - 1, kQuietNan = uint64_t{0x7ff8} << 48;
inline constexpr int32_t kBias = 1023, kLead = 62;

bool is_nan(uint64_t bits) { return (bits & ~kSignBit) > kInfinity; }
bool is_infinite(uint64_t bits) { return (bits & ~kSignBit) == kInfinity; }
bool is_zero(uint64_t bits) { return (bits & ~kSignBit) == 0; }

struct Unpacked {
  uint64_t sign;  // kSignBit or 0
  int32_t exponent;
  uint64_t significand;  // 0: zero
};

uint64_t shift_right_sticky(uint64_t value, int32_t count) {
  if (count <= 0) return value;
  if (count > 63) return value != 0;
  return value >> count | ((value << (64 - count)) != 0);
}

void normalize(Unpacked& x) {
  if (!x.significand) return;
  int32_t zeros = __builtin_clzll(x.significand);
  if (zeros == 0) {
    x.significand = shift_right_sticky(x.significand, 1);
    x.exponent += 1;
  } else {
    x.significand <<= zeros - 1;
    x.exponent -= zeros - 1;
  }
}

// REQUIRES: finite.
Unpacked unpack(uint64_t bits) {
  Unpacked x = {bits & kSignBit, static_cast<int32_t>(bits >> 52 & 0x7ff), bits & kFractionMask};
  if (x.exponent == 0) {
    x.exponent = 1;
  } else {
    x.significand |= kFractionMask + 1;
  }
  x.exponent += kLead - 52 - kBias;
  normalize(x);
  return x;
}

// The value is significand * 2^(exponent - kLead), in any scale.
uint64_t pack(const Unpacked& number) {
  Unpacked x = number;
  normalize(x);
  if (!x.significand) return x.sign;
  int32_t biased = x.exponent + kBias;
  if (biased >= 0x7ff) return x.sign | kInfinity;
  uint64_t significand = x.significand;
  if (biased <= 0) {
    significand = shift_right_sticky(significand, 1 - biased);
    biased = 0;
  }
  constexpr uint32_t kDropped = kLead - 52;
  uint64_t rest = significand & ((uint64_t{1} << kDropped) - 1), half = uint64_t{1} << (kDropped - 1);
  uint64_t kept = significand >> kDropped;
  if (rest > half || (rest == half && (kept & 1))) ++kept;
  // Subnormal: no hidden bit, and a carry into bit 52 makes it normal by itself. Normal: the hidden bit adds one to the
  // exponent field.
  uint64_t field = biased == 0 ? 0 : static_cast<uint64_t>(biased - 1) << 52;
  return x.sign | (field + kept);
}

uint64_t add(uint64_t a, uint64_t b) {
  if (is_nan(a) || is_nan(b)) return kQuietNan;
  if (is_infinite(a)) return is_infinite(b) && a != b ? kQuietNan : a;
  if (is_infinite(b)) return b;
  Unpacked x = unpack(a), y = unpack(b);
  if (!x.significand) return y.significand ? b : (a & b & kSignBit);
  if (!y.significand) return a;
  if (x.exponent < y.exponent || (x.exponent == y.exponent && x.significand < y.significand)) {
    Unpacked other = x;
    x = y;
    y = other;
  }
  // A bit of room below: the difference of sticky numbers is still right.
  uint64_t smaller = shift_right_sticky(y.significand, x.exponent - y.exponent);
  if (x.sign == y.sign) {
    x.significand += smaller;  // below 2^64
  } else {
    x.significand -= smaller;
    if (!x.significand) return 0;
  }
  return pack(x);
}

uint64_t multiply(uint64_t a, uint64_t b) {
  if (is_nan(a) || is_nan(b)) return kQuietNan;
  uint64_t sign = (a ^ b) & kSignBit;
  if (is_infinite(a) || is_infinite(b)) return is_zero(a) || is_zero(b) ? kQuietNan : sign | kInfinity;
  Unpacked x = unpack(a), y = unpack(b);
  if (!x.significand || !y.significand) return sign;
  uint64_t high, low = multiply_wide(x.significand, y.significand, &high);  // < 2^126
  // product * 2^(ex + ey - 124) = high * 2^(ex + ey - 60) = high * 2^((ex + ey + 2) - 62)
  return pack({sign, x.exponent + y.exponent + 2, high | (low != 0)});
}

uint64_t divide(uint64_t a, uint64_t b) {
  if (is_nan(a) || is_nan(b)) return kQuietNan;
  uint64_t sign = (a ^ b) & kSignBit;
  if (is_infinite(a)) return is_infinite(b) ? kQuietNan : sign | kInfinity;
  if (is_infinite(b)) return sign;
  Unpacked x = unpack(a), y = unpack(b);
  if (!y.significand) return x.significand ? sign | kInfinity : kQuietNan;
  if (!x.significand) return sign;
  // 63 bits of quotient, one by one; the remainder only says whether it was exact.
  uint64_t quotient = 0, rest = x.significand;
  for (int32_t i = 0; i < 63; ++i) {
    quotient <<= 1;
    if (rest >= y.significand) {
      rest -= y.significand;
      quotient |= 1;
    }
    rest <<= 1;
  }
  return pack({sign, x.exponent - y.exponent, quotient | (rest != 0)});
}

// a - b * (a / b to the nearest integer, ties to even), exact.
uint64_t remainder(uint64_t a, uint64_t b) {
  if (is_nan(a) || is_nan(b) || is_infinite(a) || is_zero(b)) return kQuietNan;
  if (is_infinite(b)) return a;
  Unpacked x = unpack(a), y = unpack(b);
  if (!x.significand || x.exponent < y.exponent - 1) return a;
  uint64_t rest = x.significand, odd = 0;
  int32_t exponent = x.exponent;
  if (exponent >= y.exponent) {
    for (;; --exponent) {
      odd = rest >= y.significand;
      if (odd) rest -= y.significand;
      if (exponent == y.exponent) break;
      rest <<= 1;
    }
  } else {
    rest >>= 1;  // the lowest bits of 62 are free: nothing is lost
    exponent = y.exponent;
  }
  if (!rest) return x.sign;
  // rest < |b|: the nearer multiple may be the next one.
  uint64_t twice = rest << 1;
  if (twice > y.significand || (twice == y.significand && odd)) {
    rest = y.significand - rest;
    x.sign ^= kSignBit;
  }
  return pack({x.sign, exponent, rest});
}

uint64_t square_root(uint64_t bits) {
  if (is_nan(bits)) return kQuietNan;
  if (is_zero(bits)) return bits;
  if (bits & kSignBit) return kQuietNan;
  if (is_infinite(bits)) return bits;
  Unpacked x = unpack(bits);
  // value = s * 2^(e - 62) with e even: root = isqrt(s * 2^58) * 2^(e / 2 - 60)
  uint64_t significand = x.significand;
  int32_t exponent = x.exponent;
  if (exponent & 1) {
    significand <<= 1;
    exponent -= 1;
  }
  // 61 bits of root, one by one, each from two bits of the significand and of the zeros behind it: what is left stays below 2^64.
  uint64_t root = 0, rest = 0;
  for (int32_t i = 0; i < 61; ++i) {
    rest = rest << 2 | significand >> 62;
    significand <<= 2;
    root <<= 1;
    uint64_t wanted = root << 1 | 1;
    if (rest >= wanted) {
      rest -= wanted;
      root |= 1;
    }
    compiler_barrier();
  }
  return pack({0, exponent / 2 + 2, root | (rest != 0)});
}

uint64_t from_long(int64_t value) {
  uint64_t sign = value < 0 ? kSignBit : 0;
  return pack({sign, kLead, value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value)});
}

enum Rounding : int64_t { kNearestEven = 0, kTowardsZero = 1, kDown = 2, kUp = 3, kNearestAway = 4 };

// Saturating; a NaN gives the largest number.
int64_t to_long(uint64_t bits, int64_t mode) {
  constexpr int64_t kMost = 0x7fffffffffffffff, kLeast = -kMost - 1;
  if (is_nan(bits)) return kMost;
  bool negative = bits & kSignBit;
  if (is_infinite(bits)) return negative ? kLeast : kMost;
  Unpacked x = unpack(bits);
  if (!x.significand) return 0;
  if (x.exponent >= 63) return negative ? kLeast : kMost;
  // integer . fraction, the fraction as 64 bits with a sticky end
  uint64_t integer = 0, fraction = 0;
  if (x.exponent >= 0) {
    uint32_t below = static_cast<uint32_t>(kLead - x.exponent);
    integer = x.significand >> below;
    fraction = below ? x.significand << (64 - below) : 0;
  } else {
    fraction = shift_right_sticky(x.significand << 1, -1 - x.exponent);
  }
  constexpr uint64_t kHalf = uint64_t{1} << 63;
  bool up = mode == kNearestEven   ? fraction > kHalf || (fraction == kHalf && (integer & 1))
            : mode == kNearestAway ? fraction >= kHalf
            : mode == kDown        ? negative && fraction
            : mode == kUp          ? !negative && fraction
                                   : false;
  integer += up;
  if (integer > static_cast<uint64_t>(kMost)) return negative ? kLeast : kMost;
  return negative ? -static_cast<int64_t>(integer) : static_cast<int64_t>(integer);
}

bool less(uint64_t a, uint64_t b, bool or_equal) {
  if (is_nan(a) || is_nan(b)) return false;
  if (is_zero(a) && is_zero(b)) return or_equal;
  if (a == b) return or_equal;
  bool a_negative = a & kSignBit, b_negative = b & kSignBit;
  if (a_negative != b_negative) return a_negative;
  return (a < b) != a_negative;
}

// ---- decimal. Numbers as limbs of 32 bits, little end first: the exact value, whatever the exponent.
inline constexpr uint32_t kLimbs = 72;  // 2^1024 and 2^-1074 scaled both fit into 2304 bits

struct Big {
  uint32_t limbs[kLimbs];

  // this * factor + addend
  void multiply_add(uint32_t factor, uint32_t addend) {
    uint64_t carry = addend;
    for (uint32_t i = 0; i < kLimbs; ++i) {
      carry += static_cast<uint64_t>(limbs[i]) * factor;
      limbs[i] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
  }
  uint32_t divide(uint32_t by) {
    uint64_t rest = 0;
    for (uint32_t i = kLimbs; i-- > 0;) {
      rest = rest << 32 | limbs[i];
      uint32_t digit = static_cast<uint32_t>(rest / by);
      rest -= static_cast<uint64_t>(digit) * by;
      limbs[i] = digit;
      compiler_barrier();
    }
    return static_cast<uint32_t>(rest);
  }
  bool is_zero() const {
    uint32_t any = 0;
    for (uint32_t i = 0; i < kLimbs; ++i) any |= limbs[i];
    return any == 0;
  }
  // or-s `value` in, shifted left
  void set_at(uint64_t value, uint32_t shift) {
    for (uint32_t i = 0; i < 64; ++i) {
      if (value >> i & 1) limbs[(shift + i) / 32] |= 1u << (shift + i) % 32;
      compiler_barrier();
    }
  }
};

// Where the binary point is in the fixed-point number that to_text works with: 1088 fraction bits hold the smallest
// subnormal, and 1024 more the integer part.
inline constexpr uint32_t kPoint = 1088;

void put_integer_part(TextBuffer& buffer, const Big& fixed, Big& integer) {
  for (uint32_t i = 0; i < kLimbs; ++i) {
    integer.limbs[i] = i + kPoint / 32 < kLimbs ? fixed.limbs[i + kPoint / 32] : 0;
    compiler_barrier();
  }
  char digits[320];
  uint32_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + integer.divide(10));
  } while (!integer.is_zero() && count < sizeof(digits));
  while (count > 0) buffer.put(&digits[--count], 1);
}

// Adds half a unit of the last of `precision` decimal digits' binary remainder: decides whether to round up. True: the
// digits printed so far must be increased by one unit.
bool rounds_up(const Big& rest, bool last_is_odd) {
  constexpr uint32_t kTop = kPoint / 32 - 1;
  uint32_t top = rest.limbs[kTop];
  if (top != 0x80000000u) return top > 0x80000000u;
  uint32_t any = 0;
  for (uint32_t i = 0; i < kTop; ++i) any |= rest.limbs[i];
  return any || last_is_odd;
}

void increase_decimal(char* out, uint32_t begin, uint32_t& end) {
  for (uint32_t i = end; i-- > begin;) {
    if (out[i] == '.') continue;
    if (out[i] != '9') {
      ++out[i];
      return;
    }
    out[i] = '0';
  }
  if (end + 1 >= spile_rt_string_size) return;
  for (uint32_t i = end; i > begin; --i) {
    out[i] = out[i - 1];
    compiler_barrier();
  }
  out[begin] = '1';
  ++end;
}

// Both work on big numbers in scratch memory, of which the caller gives the second.
void put_double(TextBuffer& buffer, uint64_t bits, uint32_t precision, Big& fixed, Big& integer) {
  if (bits & kSignBit) buffer.put("-", 1);
  zero_bytes(&fixed, sizeof(fixed));
  uint32_t exponent = static_cast<uint32_t>(bits >> 52 & 0x7ff);
  uint64_t significand = (bits & kFractionMask) | (exponent ? kFractionMask + 1 : 0);
  // value = significand * 2^(max(exponent, 1) - 1075)
  fixed.set_at(significand, kPoint - 1075 + (exponent ? exponent : 1));
  uint32_t begin = buffer.at;
  put_integer_part(buffer, fixed, integer);
  for (uint32_t i = kPoint / 32; i < kLimbs; ++i) fixed.limbs[i] = 0;
  if (precision) buffer.put(".", 1);
  for (uint32_t i = 0; i < precision; ++i) {
    fixed.multiply_add(10, 0);
    char digit = static_cast<char>('0' + fixed.limbs[kPoint / 32]);
    fixed.limbs[kPoint / 32] = 0;
    buffer.put(&digit, 1);
  }
  bool odd = (buffer.out[buffer.at - 1] - '0') & 1;
  if (rounds_up(fixed, odd)) increase_decimal(buffer.out, begin, buffer.at);
}

// Decimal text to a double: digits * 10^exponent, by exact steps of 10 on an unpacked number with 64 spare bits.
struct Decimal {
  uint64_t digits = 0;
  int32_t exponent = 0;
  bool any = false;
};

const char* read_digits(const char* at, Decimal& decimal, bool fraction) {
  for (; *at >= '0' && *at <= '9'; ++at) {
    decimal.any = true;
    if (decimal.digits < 1'000'000'000'000'000'000) {
      decimal.digits = decimal.digits * 10 + static_cast<uint64_t>(*at - '0');
      decimal.exponent -= fraction;
    } else {
      decimal.exponent += !fraction;  // beyond the 19th digit nothing changes
    }
  }
  return at;
}

uint64_t from_decimal(uint64_t digits, int32_t exponent_of_ten, Big& number) {
  if (!digits || exponent_of_ten < -400) return 0;
  if (exponent_of_ten > 320) return kInfinity;
  zero_bytes(&number, sizeof(number));
  // digits * 2^kShift * 10^exponent: the shift leaves bits enough where the exponent is negative.
  uint32_t shift = exponent_of_ten < 0 ? 2240 - 64 : 0;
  number.set_at(digits, shift);
  bool sticky = false;
  for (; exponent_of_ten > 0; --exponent_of_ten) number.multiply_add(10, 0);
  for (; exponent_of_ten < 0; ++exponent_of_ten) sticky |= number.divide(10) != 0;
  uint32_t top = kLimbs;
  while (top > 0 && !number.limbs[top - 1]) --top;
  if (top == 0) return 0;
  uint64_t significand = static_cast<uint64_t>(number.limbs[top - 1]) << 32;
  if (top >= 2) significand |= number.limbs[top - 2];
  for (uint32_t i = 0; i + 3 < top; ++i) sticky |= number.limbs[i] != 0;
  // The third limb fills up what the first one lacks.
  int32_t zeros = __builtin_clzll(significand);
  uint64_t third = top >= 3 ? static_cast<uint64_t>(number.limbs[top - 3]) << zeros : 0;
  significand = significand << zeros | third >> 32;
  sticky |= static_cast<uint32_t>(third) != 0;
  int32_t exponent = static_cast<int32_t>(32 * top) - zeros - 64 - static_cast<int32_t>(shift);
  return pack({0, exponent + kLead, significand | sticky});
}
// ---- the shortest decimal number that is read as the same one

// What put_shortest() works with, in scratch memory.
struct Digits {
  Big fixed, integer;
  char whole[320];  // digits of the integer part, the last one first
  char text[24];    // the first ones of the number, as values 0 to 9
  uint32_t count;   // of text
  int32_t point;    // digits before the decimal point; below 0: zeros behind it
  bool sticky;      // the number has more digits than text
};

// Finds the first `most` digits of significand * 2^exponent. REQUIRES: it is not 0, and -kPoint <= exponent <= 1150.
void find_digits(Digits& digits, uint64_t significand, int32_t exponent, uint32_t most) {
  zero_bytes(&digits.fixed, sizeof(Big));
  digits.fixed.set_at(significand, static_cast<uint32_t>(static_cast<int32_t>(kPoint) + exponent));
  for (uint32_t i = 0; i < kLimbs; ++i) {
    digits.integer.limbs[i] = i + kPoint / 32 < kLimbs ? digits.fixed.limbs[i + kPoint / 32] : 0;
    compiler_barrier();
  }
  uint32_t whole = 0;
  while (whole < sizeof(digits.whole) && !digits.integer.is_zero())
    digits.whole[whole++] = static_cast<char>(digits.integer.divide(10));
  for (uint32_t i = kPoint / 32; i < kLimbs; ++i) {
    digits.fixed.limbs[i] = 0;
    compiler_barrier();
  }
  digits.count = 0;
  digits.point = static_cast<int32_t>(whole);
  digits.sticky = false;
  while (whole > 0 && digits.count < most) digits.text[digits.count++] = digits.whole[--whole];
  while (whole > 0) digits.sticky |= digits.whole[--whole] != 0;
  for (uint32_t steps = 0; digits.count < most && steps < 400 && !digits.fixed.is_zero(); ++steps) {
    digits.fixed.multiply_add(10, 0);
    uint32_t digit = digits.fixed.limbs[kPoint / 32];
    digits.fixed.limbs[kPoint / 32] = 0;
    if (digits.count == 0 && digit == 0) --digits.point;
    else digits.text[digits.count++] = static_cast<char>(digit);
  }
  digits.sticky |= !digits.fixed.is_zero();
}

// Rounds to at most n digits, ties to even, without zeros at the end. Returns how many are left; `rounded` gets them, *point the
// decimal point.
uint32_t round_digits(const Digits& digits, uint32_t n, char* rounded, int32_t* point) {
  uint32_t count = digits.count < n ? digits.count : n;
  for (uint32_t i = 0; i < count; ++i) {
    rounded[i] = digits.text[i];
    compiler_barrier();
  }
  *point = digits.point;
  bool up = false;
  if (digits.count > n) {
    bool more = digits.sticky;
    for (uint32_t i = n + 1; i < digits.count; ++i) more |= digits.text[i] != 0;
    up = digits.text[n] > 5 || (digits.text[n] == 5 && (more || (rounded[n - 1] & 1)));
  }
  for (uint32_t i = count; up && i-- > 0;) {
    up = rounded[i] == 9;
    rounded[i] = static_cast<char>(up ? 0 : rounded[i] + 1);
  }
  if (up) {  // 999 became 1000
    rounded[0] = 1;
    ++*point;
    count = 1;
  }
  while (count > 1 && rounded[count - 1] == 0) --count;
  return count;
}

// The double that count digits with that decimal point are read as.
uint64_t read_back(const char* digits, uint32_t count, int32_t point, Big& number) {
  Decimal decimal;
  for (uint32_t i = 0; i < count; ++i) decimal.digits = decimal.digits * 10 + static_cast<uint64_t>(digits[i]);
  decimal.exponent = point - static_cast<int32_t>(count);
  // Both exact: then one operation rounds as it should (Clinger, How to Read Floating Point Numbers Accurately, 1990).
  int32_t size = decimal.exponent < 0 ? -decimal.exponent : decimal.exponent;
  if (decimal.digits >> 53 == 0 && size <= 22) {
    uint64_t power = from_long(1), ten = from_long(10);
    for (int32_t i = 0; i < size; ++i) power = multiply(power, ten);
    uint64_t whole = from_long(static_cast<int64_t>(decimal.digits));
    return decimal.exponent < 0 ? divide(whole, power) : multiply(whole, power);
  }
  return from_decimal(decimal.digits, decimal.exponent, number);
}

uint32_t write_digits_as_number(char* out, const char* digits, uint32_t count, int32_t point, int32_t most) {
  uint32_t at = 0;
  const int32_t exponent = point - 1;
  if (exponent < -4 || exponent >= most) {  // as %g does
    out[at++] = static_cast<char>('0' + digits[0]);
    if (count > 1) out[at++] = '.';
    for (uint32_t i = 1; i < count; ++i) out[at++] = static_cast<char>('0' + digits[i]);
    out[at++] = 'e';
    out[at++] = exponent < 0 ? '-' : '+';
    uint32_t size = static_cast<uint32_t>(exponent < 0 ? -exponent : exponent);
    if (size >= 100) out[at++] = static_cast<char>('0' + size / 100);
    out[at++] = static_cast<char>('0' + size / 10 % 10);
    out[at++] = static_cast<char>('0' + size % 10);
    return at;
  }
  if (point <= 0) {
    out[at++] = '0';
    out[at++] = '.';
    for (int32_t i = point; i < 0; ++i) {
      out[at++] = '0';
      compiler_barrier();
    }
  }
  for (uint32_t i = 0; i < count || static_cast<int32_t>(i) < point; ++i) {
    if (i && static_cast<int32_t>(i) == point) out[at++] = '.';
    out[at++] = i < count ? static_cast<char>('0' + digits[i]) : '0';
    compiler_barrier();
  }
  return at;
}

uint32_t write_word(char* out, const char* word, uint32_t length) {
  for (uint32_t i = 0; i < length; ++i) {
    out[i] = word[i];
    compiler_barrier();
  }
  return length;
}

}  // namespace

extern "C" {

[[gnu::noinline]] int64_t spile_fn_fp_add(Context*, int64_t a, int64_t b) {
  return static_cast<int64_t>(add(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}
[[gnu::noinline]] int64_t spile_fn_fp_sub(Context*, int64_t a, int64_t b) {
  return static_cast<int64_t>(add(static_cast<uint64_t>(a), static_cast<uint64_t>(b) ^ kSignBit));
}
[[gnu::noinline]] int64_t spile_fn_fp_mul(Context*, int64_t a, int64_t b) {
  return static_cast<int64_t>(multiply(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}
[[gnu::noinline]] int64_t spile_fn_fp_div(Context*, int64_t a, int64_t b) {
  return static_cast<int64_t>(divide(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}
[[gnu::noinline]] int64_t spile_fn_fp_rem(Context*, int64_t a, int64_t b) {
  return static_cast<int64_t>(remainder(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}
[[gnu::noinline]] int64_t spile_fn_fp_sqrt(Context*, int64_t a) {
  return static_cast<int64_t>(square_root(static_cast<uint64_t>(a)));
}
[[gnu::noinline]] int64_t spile_fn_fp_eq(Context*, int64_t a, int64_t b) {
  uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  return !is_nan(x) && !is_nan(y) && (x == y || (is_zero(x) && is_zero(y)));
}
[[gnu::noinline]] int64_t spile_fn_fp_le(Context*, int64_t a, int64_t b) {
  return less(static_cast<uint64_t>(a), static_cast<uint64_t>(b), true);
}
[[gnu::noinline]] int64_t spile_fn_fp_lt(Context*, int64_t a, int64_t b) {
  return less(static_cast<uint64_t>(a), static_cast<uint64_t>(b), false);
}
[[gnu::noinline]] int64_t spile_fn_long_to_fp(Context*, int64_t value) { return static_cast<int64_t>(from_long(value)); }
[[gnu::noinline]] int64_t spile_fn_fp_to_long(Context*, int64_t value, int64_t mode, int64_t) {
  return to_long(static_cast<uint64_t>(value), mode);
}
// A double's own bits come back as they are: $x of a float has been widened already. (As one, what is taken for a float's
// bits would be a subnormal, or no number.)
[[gnu::noinline]] int64_t spile_fn_fp32_to_fp64(Context*, int64_t value) {
  if (value >> 32 != 0 && value >> 32 != -1) return value;
  uint32_t bits = static_cast<uint32_t>(value);
  uint64_t sign = static_cast<uint64_t>(bits >> 31) << 63;
  uint32_t exponent = bits >> 23 & 0xff, fraction = bits & 0x7fffff;
  if (exponent == 0xff) return static_cast<int64_t>(fraction ? kQuietNan : sign | kInfinity);
  uint64_t significand = fraction | (exponent ? 0x800000u : 0u);
  return static_cast<int64_t>(pack({sign, static_cast<int32_t>(exponent ? exponent : 1) - 150 + kLead, significand}));
}

// The float nearest to a double, ties to even.
[[gnu::noinline]] int64_t spile_rt_narrow_float(int64_t value) {
  uint64_t bits = static_cast<uint64_t>(value), sign = bits >> 63 << 31;
  if (is_nan(bits)) return static_cast<int64_t>(sign | 0x7fc00000);
  if (is_infinite(bits)) return static_cast<int64_t>(sign | 0x7f800000);
  Unpacked x = unpack(bits);
  int32_t biased = x.exponent + 127;
  if (!x.significand || biased < -32) return static_cast<int64_t>(sign);
  if (biased >= 0xff) return static_cast<int64_t>(sign | 0x7f800000);
  uint64_t significand = biased <= 0 ? shift_right_sticky(x.significand, 1 - biased) : x.significand;
  constexpr uint32_t kDropped = kLead - 23;
  uint64_t rest = significand & ((uint64_t{1} << kDropped) - 1), half = uint64_t{1} << (kDropped - 1);
  uint64_t kept = significand >> kDropped;
  if (rest > half || (rest == half && (kept & 1))) ++kept;
  uint64_t field = biased <= 0 ? 0 : static_cast<uint64_t>(biased - 1) << 23;
  return static_cast<int64_t>(sign | (field + kept));
}

[[gnu::noinline]] void spile_fn_fp_to_string(Context* context, int64_t value, int64_t precision, char* out) {
  uint64_t bits = static_cast<uint64_t>(value);
  if (is_nan(bits)) return spile_rt_string_copy(out, "nan");
  if (is_infinite(bits)) return spile_rt_string_copy(out, bits & kSignBit ? "-inf" : "inf");
  uint64_t mark = spile_rt_frame_mark(context);
  Big* numbers = static_cast<Big*>(spile_rt_frame(context, 2 * sizeof(Big)));
  TextBuffer buffer = {out, 0};
  uint32_t digits = precision < 0 ? 0 : precision > 400 ? 400 : static_cast<uint32_t>(precision);
  if (numbers) put_double(buffer, bits, digits, numbers[0], numbers[1]);
  buffer.end();
  spile_rt_frame_release(context, mark);
}

// As far as the text is a number: [+-]digits[.digits][e[+-]digits]; a NaN where none is.
[[gnu::noinline]] int64_t spile_fn_string_to_fp(Context* context, const char* text) {
  while (*text == ' ' || (*text >= '\t' && *text <= '\r')) ++text;
  uint64_t sign = *text == '-' ? kSignBit : 0;
  if (*text == '-' || *text == '+') ++text;
  Decimal decimal;
  text = read_digits(text, decimal, false);
  if (*text == '.') text = read_digits(text + 1, decimal, true);
  if (!decimal.any) return static_cast<int64_t>(kQuietNan);
  if (*text == 'e' || *text == 'E') {
    ++text;
    bool negative = *text == '-';
    if (*text == '-' || *text == '+') ++text;
    int32_t power = 0;
    for (; *text >= '0' && *text <= '9'; ++text) power = power < 10000 ? power * 10 + (*text - '0') : power;
    decimal.exponent += negative ? -power : power;
  }
  uint64_t mark = spile_rt_frame_mark(context);
  Big* number = static_cast<Big*>(spile_rt_frame(context, sizeof(Big)));
  uint64_t bits = number ? from_decimal(decimal.digits, decimal.exponent, *number) : 0;
  spile_rt_frame_release(context, mark);
  return static_cast<int64_t>(sign | bits);
}

}  // extern "C"

[[gnu::noinline]] uint32_t put_shortest(Context* context, char* out, uint32_t kind, uint64_t low, uint32_t high) {
  const bool is_extended = kind == 10;
  uint64_t bits = kind == 4 ? static_cast<uint64_t>(spile_fn_fp32_to_fp64(context, static_cast<int64_t>(low & 0xffffffff))) : low;
  bool negative = is_extended ? high >> 15 & 1 : bits >> 63;
  uint32_t field = is_extended ? high & 0x7fff : static_cast<uint32_t>(bits >> 52 & 0x7ff), last = is_extended ? 0x7fff : 0x7ff;
  uint64_t significand = is_extended ? low : (bits & kFractionMask) | (field ? kFractionMask + 1 : 0);
  if (kind == 4 && (low >> 23 & 0xff) == 0xff) negative = low >> 31 & 1;
  uint32_t at = 0;
  if (field == last) {
    const bool infinite = is_extended ? significand << 1 == 0 : (bits & kFractionMask) == 0;
    if (negative) out[at++] = '-';
    return at + write_word(out + at, infinite ? "inf" : "nan", 3);
  }
  if (negative) out[at++] = '-';
  if (!significand) {
    out[at++] = '0';
    return at;
  }
  int32_t exponent = static_cast<int32_t>(field ? field : 1) - (is_extended ? 16383 + 63 : 1075);
  if (exponent < -static_cast<int32_t>(kPoint) || exponent > 1150) {  // of long doubles alone: as %La does
    at += write_hex(out + at, significand);
    out[at++] = 'p';
    out[at++] = exponent < 0 ? '-' : '+';
    uint32_t size = static_cast<uint32_t>(exponent < 0 ? -exponent : exponent);
    for (uint32_t scale = 10000; scale > 0; scale /= 10)
      if (size >= scale) out[at++] = static_cast<char>('0' + size / scale % 10);
    return at;
  }
  const uint64_t mark = spile_rt_frame_mark(context);
  auto* digits = static_cast<Digits*>(spile_rt_frame(context, sizeof(Digits)));
  if (!digits) {
    spile_rt_frame_release(context, mark);
    out[at++] = '?';
    return at;
  }
  uint32_t most = kind == 4 ? 9 : is_extended ? 18 : 17;
  find_digits(*digits, significand, exponent, most + 3);
  char rounded[24];
  uint32_t count = 0;
  int32_t point = 0;
  // Subnormal numbers have fewer digits than others.
  const uint32_t least = is_extended ? 18 : field && !(kind == 4 && (low >> 23 & 0xff) == 0) ? (kind == 4 ? 6 : 15) : 1;
  for (uint32_t n = least; n <= most; ++n) {
    count = round_digits(*digits, n, rounded, &point);
    if (n == most) break;
    uint64_t read = read_back(rounded, count, point, digits->integer);
    if (kind == 4 ? static_cast<uint32_t>(spile_rt_narrow_float(static_cast<int64_t>(read))) == (low & 0x7fffffff)
                  : read == (bits & ~kSignBit))
      break;
  }
  spile_rt_frame_release(context, mark);
  return at + write_digits_as_number(out + at, rounded, count, point, static_cast<int32_t>(most));
}

}  // namespace spile::rt
