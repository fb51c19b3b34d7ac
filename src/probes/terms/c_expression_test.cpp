#include "probes/terms/c_expression.h"

#include <gtest/gtest.h>

#include "probes/terms/c_constants.h"

namespace spile::probes {
namespace {

Result<int64_t> value_of(std::string_view expression) {
  return evaluate_c(expression, [](std::string_view name) -> Result<int64_t> {
    if (auto value = c_constant(name)) return *value;
    return Error{"unknown " + std::string(name), ""};
  });
}

TEST(CExpression, HasThePrecedenceOfC) {
  EXPECT_EQ(*value_of("1 + 2 * 3"), 7);
  EXPECT_EQ(*value_of("(1 + 2) * 3"), 9);
  EXPECT_EQ(*value_of("10 - 4 - 3"), 3);
  EXPECT_EQ(*value_of("1 << 2 + 1"), 8);
  EXPECT_EQ(*value_of("6 & 3 == 3"), 0);
  EXPECT_EQ(*value_of("1 | 2 ^ 3 & 1"), 3);
  EXPECT_EQ(*value_of("0 && 1 || 2 > 1"), 1);
  EXPECT_EQ(*value_of("!0 + ~0 - -2"), 2);
  EXPECT_EQ(*value_of(" 7 % 4 "), 3);
}

TEST(CExpression, ReadsNumbersAsC) {
  EXPECT_EQ(*value_of("0x7fUL"), 127);
  EXPECT_EQ(*value_of("010"), 8);
  EXPECT_EQ(*value_of("0"), 0);
  EXPECT_EQ(*value_of("0xffffffffffffffff"), -1);
  EXPECT_FALSE(value_of("08").ok());
  EXPECT_FALSE(value_of("0x").ok());
  EXPECT_FALSE(value_of("12a").ok());
  EXPECT_FALSE(value_of("99999999999999999999").ok());
}

TEST(CExpression, RejectsWhatIsNotOne) {
  for (const char* wrong : {"", " ", "1 +", "(1", "1)", "1 2", "a b", "O_RDWR |", "\"x\"", "x = 1", "f(1)", "NO_SUCH_NAME"})
    EXPECT_FALSE(value_of(wrong).ok()) << wrong;
  EXPECT_EQ(value_of("1 / 0").error().message, "division by zero");
  EXPECT_EQ(value_of("1 % (2 - 2)").error().message, "division by zero");
  EXPECT_NE(value_of("1 << 64").error().message.find("64 bits"), std::string::npos);
  EXPECT_EQ(*value_of("-0x8000000000000000 / -1"), std::numeric_limits<int64_t>::min());
  EXPECT_NE(value_of(std::string(100000, '(')).error().message.find("too deeply"), std::string::npos);
  EXPECT_NE(value_of(std::string(100000, '-')).error().message.find("too deeply"), std::string::npos);
}

TEST(CConstants, AreTheKernels) {
  EXPECT_EQ(c_constant("AF_INET6"), 10);
  EXPECT_EQ(*value_of("O_RDWR | O_CREAT"), 0102);
  EXPECT_EQ(c_constant("O_LARGEFILE"), 0100000);  // which the C library of x86-64 has as 0
  EXPECT_EQ(c_constant("SIGRTMIN"), 32);
  EXPECT_EQ(c_constant("SIGKILL"), 9);
  EXPECT_EQ(c_constant("ECONNREFUSED"), 111);
  EXPECT_EQ(c_constant("TCP_LISTEN"), 10);
  EXPECT_EQ(c_constant("TASK_UNINTERRUPTIBLE"), 2);
  EXPECT_EQ(c_constant("IPPROTO_UDP"), 17);
  EXPECT_EQ(c_constant("S_ISUID"), 04000);
  EXPECT_EQ(c_constant("ETH_P_IP"), 0x800);
  EXPECT_EQ(c_constant("NO_SUCH_NAME"), std::nullopt);
}

}  // namespace
}  // namespace spile::probes
