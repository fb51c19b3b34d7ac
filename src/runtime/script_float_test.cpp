// Software floating point against the processor's.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "runtime/test_arena.h"

namespace spile::rt {
extern "C" {
int64_t spile_fn_fp_add(Context*, int64_t, int64_t);
int64_t spile_fn_fp_sub(Context*, int64_t, int64_t);
int64_t spile_fn_fp_mul(Context*, int64_t, int64_t);
int64_t spile_fn_fp_div(Context*, int64_t, int64_t);
int64_t spile_fn_fp_rem(Context*, int64_t, int64_t);
int64_t spile_fn_fp_sqrt(Context*, int64_t);
int64_t spile_fn_fp_eq(Context*, int64_t, int64_t);
int64_t spile_fn_fp_le(Context*, int64_t, int64_t);
int64_t spile_fn_fp_lt(Context*, int64_t, int64_t);
int64_t spile_fn_long_to_fp(Context*, int64_t);
int64_t spile_fn_fp_to_long(Context*, int64_t, int64_t, int64_t);
int64_t spile_fn_fp32_to_fp64(Context*, int64_t);
int64_t spile_rt_narrow_float(int64_t);
void spile_fn_fp_to_string(Context*, int64_t, int64_t, char*);
int64_t spile_fn_string_to_fp(Context*, const char*);
}

namespace {

int64_t bits_of(double value) { return std::bit_cast<int64_t>(value); }
double value_of(int64_t bits) { return std::bit_cast<double>(bits); }

class Float : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(spile_rt_enter(&context_)); }

  void same(double wanted, int64_t bits, double a, double b, const char* what) {
    double got = value_of(bits);
    if (std::isnan(wanted) && std::isnan(got)) return;
    ASSERT_EQ(bits_of(wanted), bits) << what << " of " << a << " and " << b << ": " << wanted << ", got " << got;
  }
  void compare_all(double a, double b) {
    int64_t x = bits_of(a), y = bits_of(b);
    same(a + b, spile_fn_fp_add(&context_, x, y), a, b, "sum");
    same(a - b, spile_fn_fp_sub(&context_, x, y), a, b, "difference");
    same(a * b, spile_fn_fp_mul(&context_, x, y), a, b, "product");
    same(a / b, spile_fn_fp_div(&context_, x, y), a, b, "quotient");
    same(std::sqrt(a), spile_fn_fp_sqrt(&context_, x), a, b, "root");
    same(std::remainder(a, b), spile_fn_fp_rem(&context_, x, y), a, b, "remainder");
    ASSERT_EQ(a == b, spile_fn_fp_eq(&context_, x, y) != 0) << a << " " << b;
    ASSERT_EQ(a < b, spile_fn_fp_lt(&context_, x, y) != 0) << a << " " << b;
    ASSERT_EQ(a <= b, spile_fn_fp_le(&context_, x, y) != 0) << a << " " << b;
  }
  std::string text(double value, int64_t precision) {
    return spile_fn_fp_to_string(&context_, bits_of(value), precision, out_), out_;
  }
  TestArena arena_;
  Context context_{};
  char out_[512];
};

TEST_F(Float, CalculatesAsTheProcessorDoes) {
  const double special[] = {0.0,
                            -0.0,
                            1.0,
                            -1.0,
                            0.5,
                            1.5,
                            3.0,
                            1e308,
                            -1e308,
                            5e-324,
                            2.2250738585072014e-308,
                            2.2250738585072009e-308,
                            INFINITY,
                            -INFINITY,
                            NAN,
                            4503599627370497.5,
                            9007199254740993.0};
  for (double a : special) {
    for (double b : special) compare_all(a, b);
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 300000; ++i) {
    uint64_t x = random(), y = random();
    // Half of the pairs are near each other, where cancellation and ties are.
    if (i & 1) y = (y & 0x000fffffffffffff) | ((x & 0x7ff0000000000000) + (random() % 5 << 52)) | (y & (uint64_t{1} << 63));
    if (i & 2) x &= ~uint64_t{0xffffffff};
    compare_all(std::bit_cast<double>(x), std::bit_cast<double>(y));
    if (HasFatalFailure()) return;
  }
}

TEST_F(Float, ConvertsIntegersAndFloats) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100000; ++i) {
    auto value = static_cast<int64_t>(random()) >> (random() % 64);
    ASSERT_EQ(bits_of(static_cast<double>(value)), spile_fn_long_to_fp(&context_, value)) << value;
    double x = static_cast<double>(value) / static_cast<double>(1 + random() % 1000);
    if (std::fabs(x) < 9e18) {
      ASSERT_EQ(spile_fn_fp_to_long(&context_, bits_of(x), 0, 0), std::llrint(x)) << x;
      ASSERT_EQ(spile_fn_fp_to_long(&context_, bits_of(x), 1, 0), static_cast<int64_t>(x)) << x;
      ASSERT_EQ(spile_fn_fp_to_long(&context_, bits_of(x), 2, 0), static_cast<int64_t>(std::floor(x))) << x;
      ASSERT_EQ(spile_fn_fp_to_long(&context_, bits_of(x), 3, 0), static_cast<int64_t>(std::ceil(x))) << x;
      ASSERT_EQ(spile_fn_fp_to_long(&context_, bits_of(x), 4, 0), std::llround(x)) << x;
    }
    float narrow = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!std::isnan(narrow)) {
      ASSERT_EQ(bits_of(static_cast<double>(narrow)), spile_fn_fp32_to_fp64(&context_, std::bit_cast<int32_t>(narrow)));
      ASSERT_EQ(spile_rt_narrow_float(bits_of(narrow)), std::bit_cast<uint32_t>(narrow));
    }
    // Of all sizes that a float has, and a little more on both sides.
    double wide = std::ldexp(static_cast<double>(static_cast<int64_t>(random())), static_cast<int>(random() % 300) - 220);
    ASSERT_EQ(spile_rt_narrow_float(bits_of(wide)), std::bit_cast<uint32_t>(static_cast<float>(wide))) << wide;
    ASSERT_EQ(spile_fn_fp32_to_fp64(&context_, bits_of(wide)), bits_of(wide));  // already one
  }
  EXPECT_EQ(spile_fn_fp_to_long(&context_, bits_of(1e300), 0, 0), INT64_MAX);
  EXPECT_EQ(spile_fn_fp_to_long(&context_, bits_of(-INFINITY), 0, 0), INT64_MIN);
  EXPECT_EQ(spile_fn_fp_to_long(&context_, bits_of(-9223372036854775808.0), 0, 0), INT64_MIN);
}

TEST_F(Float, PrintsAsPrintfDoes) {
  char wanted[512];
  std::mt19937_64 random(3);
  for (int i = 0; i < 3000; ++i) {
    double value = i < 1000   ? static_cast<double>(static_cast<int64_t>(random())) / 1e12
                   : i < 2000 ? std::bit_cast<double>(random())
                              : static_cast<double>(random() % 100000) / 8;
    if (!std::isfinite(value)) continue;
    int precision = static_cast<int>(random() % 12);
    std::snprintf(wanted, sizeof(wanted), "%.*f", precision, value);
    ASSERT_EQ(text(value, precision), wanted);
  }
  EXPECT_EQ(text(9.995, 2), "9.99");
  EXPECT_EQ(text(0.5, 0), "0");
  EXPECT_EQ(text(1.5, 0), "2");
  EXPECT_EQ(text(99.95, 1), "100.0");
  EXPECT_EQ(text(-INFINITY, 3), "-inf");
  EXPECT_EQ(text(NAN, 3), "nan");
}

TEST_F(Float, ReadsDecimalsToTheNearest) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 3000; ++i) {
    double value = i < 1500 ? std::bit_cast<double>(random()) : static_cast<double>(random() % 1000000) / 1000;
    if (!std::isfinite(value)) continue;
    char written[64];
    std::snprintf(written, sizeof(written), i & 1 ? "%.17g" : "%.6g", value);
    ASSERT_EQ(bits_of(std::strtod(written, nullptr)), spile_fn_string_to_fp(&context_, written)) << written;
  }
  EXPECT_EQ(value_of(spile_fn_string_to_fp(&context_, " -12.5xyz")), -12.5);
  EXPECT_EQ(value_of(spile_fn_string_to_fp(&context_, "1e400")), INFINITY);
  EXPECT_EQ(value_of(spile_fn_string_to_fp(&context_, "1e-400")), 0.0);
  EXPECT_EQ(value_of(spile_fn_string_to_fp(&context_, "10000000000000000000000")), 1e22);
  EXPECT_TRUE(std::isnan(value_of(spile_fn_string_to_fp(&context_, "none"))));
}

}  // namespace
}  // namespace spile::rt
