// What is found in the code of Go's functions. Hex in, offsets out.

#include <gtest/gtest.h>

#include "engine/arch/architecture.h"
#include "engine/arch/x86_64/function_exits.h"
#include "engine/arch/x86_64/function_flow.h"

namespace spile::engine::x86_64 {
namespace {

std::vector<uint8_t> bytes_of(std::string_view hex) {
  std::vector<uint8_t> bytes;
  for (size_t at = 0; at < hex.size(); at += 3)
    bytes.push_back(static_cast<uint8_t>(std::stoul(std::string(hex.substr(at, 2)), nullptr, 16)));
  return bytes;
}

// "offset<straight<first" of each return, or the obstacle.
std::string returns_of(std::string_view hex) {
  std::vector<uint8_t> text = bytes_of(hex);
  FunctionFlow flow = analyze_function(text, Address(0x1000), text.size(), [](Address, std::span<uint8_t>) { return size_t{0}; });
  FunctionReturns found = find_returns(text, flow);
  if (!found.obstacle.empty()) return found.obstacle;
  std::string all;
  for (const ReturnSite& site : found.sites) {
    all += (all.empty() ? "" : " ") + std::to_string(site.offset) + "<" + std::to_string(site.straight) + "<" +
           std::to_string(site.first);
  }
  return all;
}

constexpr const char* kSmallFrame =
    "49 3b 66 10 "                          // cmp 0x10(%r14), %rsp
    "76 15 "                                // jbe more
    "48 83 ec 18 48 89 6c 24 10 "           // sub $24, %rsp ; mov %rbp, 16(%rsp)
    "48 8b 6c 24 10 48 83 c4 18 c3 90 90 "  // mov 16(%rsp), %rbp ; add $24, %rsp ; ret
    "48 89 44 24 08 "                       // more: mov %rax, 8(%rsp)
    "e8 00 00 00 00 "                       // call runtime.morestack_noctxt
    "48 8b 44 24 08 "                       // mov 8(%rsp), %rax
    "eb d4";                                // jmp 0

TEST(GoFunctions, BeginBehindTheCheckOfTheirStack) {
  EXPECT_EQ(behind_stack_check(bytes_of(kSmallFrame)), 6u);
  EXPECT_EQ(behind_stack_check(bytes_of("4c 8d 64 24 e8 "     // lea -24(%rsp), %r12
                                        "4d 3b 66 10 76 01 "  // cmp 0x10(%r14), %r12 ; jbe more
                                        "c3 e8 00 00 00 00 "  // ret ; more: call
                                        "eb ed")),
            11u);
}

TEST(GoFunctions, HaveNoCheckWhereABranchOnlyLooksLikeOne) {
  EXPECT_EQ(behind_stack_check(bytes_of("48 29 d8 c3")), 0u);                          // sub %rbx, %rax ; ret
  EXPECT_EQ(behind_stack_check(bytes_of("48 85 c0 76 01 c3 e8 00 00 00 00 c3")), 0u);  // the block doesn't begin again
  EXPECT_EQ(behind_stack_check(bytes_of("48 85 c0 76 01 c3 48 ff c0 eb f5")), 0u);     // it calls nobody
}

TEST(GoFunctions, ReturnsAreFoundWithTheRoomBeforeThem) {
  EXPECT_EQ(returns_of(kSmallFrame), "24<20<6");
  EXPECT_EQ(returns_of("48 29 d8 c3"), "3<0<0");
  EXPECT_EQ(returns_of("48 85 c0 74 03 31 c0 c3 ff c0 c3"), "7<5<5 10<8<8");
}

TEST(GoFunctions, NoBranchLeadsIntoTheRoomOfAReturn) {
  EXPECT_EQ(returns_of("48 85 c0 74 03 48 ff c0 c3"), "8<8<8");         // je to the ret itself
  EXPECT_EQ(returns_of("48 85 c0 74 02 31 c0 48 ff c0 c3"), "10<7<7");  // je to the inc before it
}

TEST(GoFunctions, OnesThatEndElsewhereAreTold) {
  EXPECT_EQ(returns_of("48 89 c3 e9 00 10 00 00"), "it ends by jumping to another function, which returns in its place");
  EXPECT_EQ(returns_of("ff e2"), "it ends by jumping to another function, which returns in its place");
  EXPECT_EQ(returns_of("06 c3"), "there is data in its code");
}

TEST(GoFunctions, SayWhereTheGoroutineIsKept) {
  EXPECT_EQ(find_goroutine_offset(bytes_of("90 64 4c 8b 34 25 f8 ff ff ff c3")), -8);  // mov %fs:-8, %r14
  EXPECT_EQ(find_goroutine_offset(bytes_of("64 48 8b 0c 25 f0 ff ff ff 90")), -16);    // mov %fs:-16, %rcx
  EXPECT_EQ(find_goroutine_offset(bytes_of("49 c7 c6 f8 ff ff ff 64 4d 8b 36")), -8);  // mov $-8, %r14 ; mov %fs:(%r14), %r14
  EXPECT_EQ(find_goroutine_offset(bytes_of("64 48 8b 04 25 28 00 00 00 c3")), 0);      // the stack protector's
}

}  // namespace
}  // namespace spile::engine::x86_64
