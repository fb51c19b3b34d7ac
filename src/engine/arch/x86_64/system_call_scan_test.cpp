// What is a system call in some text, by the functions that are known in it and by the bytes themselves.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/arch/architecture.h"

namespace spile::engine {
namespace {

constexpr uint64_t kText = 0x401000;

// "+": a call for certain, "?": unclear; and where.
std::string scan(const std::vector<uint8_t>& text, std::optional<std::pair<uint64_t, uint64_t>> function) {
  auto before = [&](Address at) -> std::optional<std::pair<Address, Address>> {
    if (!function || at < Address(kText + function->first)) return {};
    return std::pair(Address(kText + function->first), Address(kText + function->second));
  };
  std::string found;
  for (const FoundSystemCall& call : native_architecture().find_system_calls(text, Address(kText), before)) {
    found += (call.certain ? "+" : "?") + std::to_string(call.at.value - kText) + " ";
  }
  return found;
}

constexpr auto kNoFunction = std::nullopt;

TEST(SystemCallScan, FindsTheCallsOfAFunction) {
  // mov $39, %eax; syscall; ret
  EXPECT_EQ(scan({0xb8, 0x27, 0, 0, 0, 0x0f, 0x05, 0xc3}, std::pair(0, 8)), "+5 ");
  // mov $0x050f, %eax; ret
  EXPECT_EQ(scan({0xb8, 0x0f, 0x05, 0, 0, 0xc3}, std::pair(0, 6)), "");
}

TEST(SystemCallScan, TakesNothingForCodeWithoutAFunction) {
  EXPECT_EQ(scan({0xb8, 0x27, 0, 0, 0, 0x0f, 0x05, 0xc3}, kNoFunction), "?5 ");
  // Constants from which no way leads on: je over an invalid byte to another one.
  EXPECT_EQ(scan({0x2a, 0xdd, 0xe9, 0x0f, 0x05, 0x74, 0x01, 0x06, 0x06, 0x06}, kNoFunction), "");
  // The same, but where it jumps to there is a return.
  EXPECT_EQ(scan({0x2a, 0xdd, 0xe9, 0x0f, 0x05, 0x74, 0x01, 0x06, 0xc3, 0x06}, kNoFunction), "?3 ");
}

TEST(SystemCallScan, KnowsThatExitDoesNotReturn) {
  EXPECT_EQ(scan({0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05, 0x06, 0x06}, kNoFunction), "?5 ");  // mov $60, %eax; syscall; data
  EXPECT_EQ(scan({0x6a, 0x3c, 0x58, 0x0f, 0x05, 0x06, 0x06}, kNoFunction), "?3 ");     // push $60; pop %rax; syscall; data
  EXPECT_EQ(scan({0xb0, 0xe7, 0x90, 0x0f, 0x05, 0xf4}, kNoFunction), "?3 ");           // mov $231, %al; nop; syscall; hlt
}

TEST(SystemCallScan, KnowsWhatEndsAThreadAndWhatReturnsFromASignal) {
  auto find = [](const std::vector<uint8_t>& text) {
    auto whole = [&](Address) { return std::pair(Address(kText), Address(kText + text.size())); };
    return native_architecture().find_system_calls(text, Address(kText), whole).at(0);
  };
  FoundSystemCall exit = find({0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05, 0xcc});  // mov $60, %eax; syscall; int3
  EXPECT_TRUE(exit.ends_thread);
  EXPECT_EQ(exit.returning, 0);
  FoundSystemCall returns = find({0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05, 0xcc});  // mov $15, %rax; syscall; int3
  EXPECT_FALSE(returns.ends_thread);
  EXPECT_EQ(returns.returning, 7);
  FoundSystemCall other = find({0xb8, 0x3c, 0, 0, 0, 0x90, 0x0f, 0x05, 0xcc});  // mov $60, %eax; nop; syscall; int3
  EXPECT_FALSE(other.ends_thread);
}

TEST(SystemCallScan, LeavesAThreadWithoutAStackAlone) {
  // mov $11, %eax; syscall; xor %edi, %edi; mov $60, %eax; syscall
  std::vector<uint8_t> text = {0xb8, 0x0b, 0, 0, 0, 0x0f, 0x05, 0x31, 0xff, 0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05};
  EXPECT_EQ(scan(text, std::pair(0, 16)), "?5 +14 ");
}

}  // namespace
}  // namespace spile::engine
