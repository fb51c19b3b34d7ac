// Hex in, hex out: how displaced instructions look elsewhere, which sites are planned how; and the code runs.

#include "engine/arch/x86_64/relocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/arch/architecture.h"
#include "engine/arch/x86_64/branch_scan.h"
#include "engine/arch/x86_64/function_exits.h"
#include "engine/arch/x86_64/return_safety.h"

namespace spile::engine::x86_64 {
namespace {

std::vector<uint8_t> bytes_of(std::string_view hex) {
  std::vector<uint8_t> bytes;
  std::string digits;
  for (char c : hex) {
    if (isxdigit(static_cast<unsigned char>(c))) digits += c;
  }
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoul(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::string hex_of(std::span<const uint8_t> bytes) {
  std::string hex;
  for (uint8_t byte : bytes) {
    static const char* kDigits = "0123456789abcdef";
    if (!hex.empty()) hex += ' ';
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

// One instruction moved from 0x1000 to 0x2000, or another pair.
std::string moved(std::string_view hex, uint64_t from = 0x1000, uint64_t to = 0x2000) {
  std::vector<uint8_t> bytes = bytes_of(hex);
  auto instruction = decode(bytes);
  if (!instruction) return "no instruction";
  Assembler out((Address(to)));
  auto result = relocate(*instruction, std::span(bytes).first(instruction->length), Address(from), out);
  return result.ok() ? hex_of(out.take()) : result.error().message;
}

TEST(Relocator, CopiesWhatDependsOnNoAddress) {
  EXPECT_EQ(moved("55"), "55");                                                  // push %rbp
  EXPECT_EQ(moved("48 89 e5"), "48 89 e5");                                      // mov %rsp, %rbp
  EXPECT_EQ(moved("64 48 8b 04 25 28 00 00 00"), "64 48 8b 04 25 28 00 00 00");  // mov %fs:0x28, %rax
  EXPECT_EQ(moved("0f 05"), "0f 05");                                            // syscall
  EXPECT_EQ(moved("c3"), "c3");
  EXPECT_EQ(moved("ff e0"), "ff e0");  // jmp *%rax
}

TEST(Relocator, KeepsRipRelativeTargets) {
  EXPECT_EQ(moved("48 8d 05 00 10 00 00"), "48 8d 05 00 00 00 00");        // lea 0x1000(%rip), %rax
  EXPECT_EQ(moved("48 8b 0d f9 0f 00 00"), "48 8b 0d f9 ff ff ff");        // mov 0xff9(%rip), %rcx
  EXPECT_EQ(moved("ff 25 10 00 00 00"), "ff 25 10 f0 ff ff");              // jmp *0x10(%rip)
  EXPECT_EQ(moved("c5 fb 10 05 00 00 00 00"), "c5 fb 10 05 00 f0 ff ff");  // vmovsd 0(%rip), %xmm0
  EXPECT_EQ(moved("66 0f 6f 05 00 00 00 00"), "66 0f 6f 05 00 f0 ff ff");  // movdqa 0(%rip), %xmm0
}

TEST(Relocator, KeepsRipRelativeTargetsBeforeImmediates) {
  EXPECT_EQ(moved("83 3d 00 10 00 00 07"), "83 3d 00 00 00 00 07");                    // cmpl $7, 0x1000(%rip)
  EXPECT_EQ(moved("c7 05 00 10 00 00 01 02 03 04"), "c7 05 00 00 00 00 01 02 03 04");  // movl $.., 0x1000(%rip)
  EXPECT_EQ(moved("80 3d 00 10 00 00 00"), "80 3d 00 00 00 00 00");                    // cmpb $0, 0x1000(%rip)
}

TEST(Relocator, ReaimsBranches) {
  EXPECT_EQ(moved("eb 10"), "e9 0d f0 ff ff");                 // jmp 0x1012
  EXPECT_EQ(moved("e9 00 10 00 00"), "e9 00 00 00 00");        // jmp 0x2005
  EXPECT_EQ(moved("f2 e9 00 10 00 00"), "e9 01 00 00 00");     // bnd jmp 0x2006
  EXPECT_EQ(moved("74 10"), "0f 84 0c f0 ff ff");              // je 0x1012
  EXPECT_EQ(moved("7f fe"), "0f 8f fa ef ff ff");              // jg 0x1000
  EXPECT_EQ(moved("0f 85 00 10 00 00"), "0f 85 00 00 00 00");  // jne 0x2006
}

TEST(Relocator, ExpandsCountedBranches) {
  EXPECT_EQ(moved("e3 10"), "e3 02 eb 05 e9 09 f0 ff ff");        // jrcxz 0x1012
  EXPECT_EQ(moved("67 e3 10"), "67 e3 02 eb 05 e9 09 f0 ff ff");  // jecxz 0x1013
  EXPECT_EQ(moved("e2 10"), "e2 02 eb 05 e9 09 f0 ff ff");        // loop 0x1012
}

TEST(Relocator, CallsPushTheOriginalReturnAddress) {
  EXPECT_EQ(moved("e8 00 10 00 00"), "68 05 10 00 00 e9 fb ff ff ff");
  EXPECT_EQ(moved("ff d0"), "68 02 10 00 00 ff e0");                          // call *%rax
  EXPECT_EQ(moved("41 ff d3"), "68 03 10 00 00 41 ff e3");                    // call *%r11
  EXPECT_EQ(moved("ff 15 00 00 00 00"), "68 06 10 00 00 ff 25 fb ef ff ff");  // call *0(%rip)
  EXPECT_EQ(moved("ff 50 18"), "68 03 10 00 00 ff 60 18");                    // call *0x18(%rax)
  EXPECT_EQ(moved("e8 00 00 00 00", 0x7f0012345000, 0x7f0012340000), "68 05 50 34 12 c7 44 24 04 00 7f 00 00 e9 f3 4f 00 00");
}

TEST(Relocator, RefusesWhatCannotMove) {
  EXPECT_EQ(moved("cc"), "a breakpoint is set there");
  EXPECT_EQ(moved("c7 f8 00 00 00 00"), "the instruction depends on its own address and can't be moved");  // xbegin
  EXPECT_EQ(moved("ff 54 24 08"), "an indirect call through the stack pointer can't be moved");            // call *8(%rsp)
  EXPECT_EQ(moved("48 8d 05 00 00 00 00", 0x1000, 0x7f0000000000), "an operand is out of reach of a trampoline");
}

std::string planned(std::string_view hex, uint64_t size, uint64_t entry = 0x1000) {
  std::vector<uint8_t> bytes = bytes_of(hex);
  SitePlan plan = native_architecture().plan_entry(bytes, Address(entry), size);
  if (plan.mechanism == Mechanism::kRefused) return plan.reason;
  return std::string(mechanism_name(plan.mechanism)) + " at " + std::to_string(plan.begin.value - entry) + " over " +
         std::to_string(plan.window);
}

TEST(SitePlanner, DisplacesWholeInstructions) {
  EXPECT_EQ(planned("55 48 89 e5 48 83 ec 10 c9 c3", 10), "jump at 0 over 8");
  EXPECT_EQ(planned("48 83 ec 18 31 c0 48 83 c4 18 c3", 11), "jump at 0 over 6");
}
uint8_t guarded(std::string_view hex) {
  std::vector<uint8_t> bytes = bytes_of(hex);
  return native_architecture().plan_entry(bytes, Address(0x1000), bytes.size()).guarded;
}
TEST(SitePlanner, GuardsWhereInstructionsBegin) {
  EXPECT_EQ(guarded("55 48 89 e5 48 83 ec 10 c9 c3"), 0b1001);  // at 1 and 4
  EXPECT_EQ(guarded("41 54 53 48 83 ec 10 c9 c3"), 0b0111);     // at 2 and 3, and behind the prefix
  EXPECT_EQ(guarded("31 c0 48 89 f8 c3"), 0b0010);
  EXPECT_EQ(guarded("48 83 ec 18 31 c0 c3"), 0b1001);  // at 4, and behind the prefix
  EXPECT_EQ(guarded("48 8d 05 00 00 00 00 c3"), 0b0001);
  EXPECT_EQ(guarded("b8 01 00 00 00 c3"), 0);
  EXPECT_EQ(guarded("f3 0f 1e fa 55 48 89 e5 31 c0 5d c3"), 0b1001);  // behind endbr64
}
FunctionFlow flow_of(std::string_view hex) {
  std::vector<uint8_t> bytes = bytes_of(hex);
  auto read_nothing = [](Address, std::span<uint8_t>) { return size_t{0}; };
  return native_architecture().analyze_function(bytes, Address(0x1000), bytes.size(), read_nothing);
}
TEST(FunctionFlow, IsNotKnownBehindABreakpointWithinTheCode) {
  EXPECT_TRUE(flow_of("55 48 89 e5 c9 c3 cc cc cc").known);
  EXPECT_TRUE(flow_of("55 48 89 e5 c9 c3 90 cc 90").known);
  EXPECT_TRUE(flow_of("55 e8 00 00 00 00 90 cc cc cc").known);  // behind a call that doesn't return
  EXPECT_FALSE(flow_of("55 cc 89 e5 c9 c3 90 90 90").known);
  EXPECT_TRUE(flow_of("55 cc 89 e5 c9 c3 90 90 90 90 90 90 90 90 90 90").islands.empty());
  EXPECT_FALSE(flow_of("55 48 89 e5 c9 c3 90 90 90 90 90 90 90 90 90 90").islands.empty());
}
TEST(SitePlanner, TakesNoBytesOfABreakpointIntoAJump) {
  SitePlan plan = native_architecture().plan_single(bytes_of("31 c0 48 89 cc f8 c3 90 90"), Address(0x1000000), 9);
  EXPECT_EQ(plan.mechanism, Mechanism::kInt3);
}
TEST(SitePlanner, KeepsEndbr64) { EXPECT_EQ(planned("f3 0f 1e fa 55 48 89 e5 31 c0 5d c3", 12), "jump at 4 over 6"); }
TEST(SitePlanner, TakesANopAsItIs) {
  EXPECT_EQ(planned("0f 1f 44 00 00 31 c0 c3", 8), "nop at 0 over 5");
  EXPECT_EQ(planned("f3 0f 1e fa 0f 1f 44 00 00 31 c0 c3", 12), "nop at 4 over 5");
}
TEST(SitePlanner, UsesPaddingBehindShortFunctions) {
  EXPECT_EQ(planned("c3 66 66 2e 0f 1f 84 00 00 00 00 00 0f 1f 40 00 55", 1), "jump at 0 over 5");
  EXPECT_EQ(planned("31 c0 c3 cc cc cc cc cc cc cc cc cc cc cc cc cc 55", 3), "jump at 0 over 5");
  EXPECT_EQ(planned("31 c0 c3 55 48 89 e5 c3", 3), "too short for a jump, and no padding behind it");
  // The padding must not be a neighbor's: it ends where the next function may begin.
  EXPECT_EQ(planned("31 c0 c3 90 90 90 90 90", 3, 0x100d), "too short for a jump, and no padding behind it");
}
TEST(SitePlanner, NeverCoversABranchTarget) {
  // 0: nop; 1: dec %edi; 3: jnz 1; 5: ret
  EXPECT_EQ(planned("90 ff cf 75 fc c3", 6), "a branch leads into its first 5 bytes");
  // A loop back to the entry itself meets the jump.
  EXPECT_EQ(planned("ff cf 48 85 ff 75 f9 c3", 8), "jump at 0 over 5");
  // rel32, far behind the start
  std::string far = "48 89 f8 48 ff c0";
  for (int i = 0; i < 300; i++) far += " 90";
  far += " e9 cc fe ff ff";  // at 306: jmp 3 - ...
  std::vector<uint8_t> code = bytes_of(far);
  int32_t distance = 3 - static_cast<int32_t>(code.size());
  memcpy(&code[code.size() - 4], &distance, 4);
  EXPECT_TRUE(branches_into(code, 1, 4));
  distance = 6 - static_cast<int32_t>(code.size());
  memcpy(&code[code.size() - 4], &distance, 4);
  EXPECT_FALSE(branches_into(code, 1, 4));
}
TEST(SitePlanner, ShortJumpsLandInPadding) {
  // 0: xor %eax,%eax; 2: inc %eax; 4: cmp; jne 2; ret; then padding up to the next multiple of 16
  std::string loop = "31 c0 ff c0 39 f8 75 fa c3 0f 1f 80 00 00 00 00 55";
  EXPECT_EQ(planned(loop, 9), "short jump at 0 over 2");
  EXPECT_EQ(planned("31 c0 ff c0 39 f8 75 fa c3 55 48 89 e5 5d c3 90", 9), "a branch leads into its first 5 bytes");
}
TEST(SitePlanner, RefusesACallThatWouldReturnIntoTheJump) {
  EXPECT_EQ(planned("ff d0 48 89 c3 c3", 6), "a call within its first 5 bytes would return into the jump");
  EXPECT_EQ(planned("e8 00 10 00 00 c3", 6), "jump at 0 over 5");
}

TEST(BranchScan, TellsLoopsFromCalls) {
  auto jumps = [](const std::string& code, uint64_t at, uint64_t target) {
    return jumps_to(bytes_of(code), Address(at), Address(target));
  };
  EXPECT_TRUE(jumps("ff cf 75 fc c3", 0x1000, 0x1000)) << "dec %edi; jnz to the first instruction";
  EXPECT_FALSE(jumps("90 ff cf 75 fc c3", 0x1000, 0x1000)) << "to the second";
  EXPECT_FALSE(jumps("e8 fb ff ff ff c3", 0x1000, 0x1000)) << "a recursive call";
  EXPECT_TRUE(jumps("48 89 f8 e9 f8 ff ff ff", 0x1000, 0x1000)) << "jmp rel32";
  EXPECT_TRUE(jumps("90 e9 fa 0f 00 00", 0x1000, 0x2000)) << "from a part that lies elsewhere";
  EXPECT_TRUE(jumps("e2 fe", 0x1000, 0x1000)) << "loop";
  EXPECT_FALSE(jumps("48 b8 eb f4 00 00 00 00 00 00 c3", 0x1000, 0x1000 - 6))
      << "what looks like a jump within another instruction";
}
TEST(BranchScan, FindsBranchesFromAfar) {
  std::vector<uint8_t> text(4096, 0x90);
  auto put = [&](size_t at, std::string_view hex, size_t target) {
    std::vector<uint8_t> bytes = bytes_of(hex);
    int32_t distance = static_cast<int32_t>(target) - static_cast<int32_t>(at + bytes.size() + 4);
    memcpy(&text[at], bytes.data(), bytes.size());
    memcpy(&text[at + bytes.size()], &distance, 4);
  };
  std::vector<bool> covered(text.size());
  std::fill(covered.begin() + 101, covered.begin() + 105, true);
  put(3000, "e9", 102);
  put(3100, "0f 84", 104);
  put(3200, "e9", 100);        // the entry itself
  put(3300, "48 8d 05", 103);  // lea: no branch
  EXPECT_EQ(find_branches_into(text, covered), (std::vector<TextBranch>{{3000, 102}, {3100, 104}}));
  EXPECT_TRUE(is_instruction(text, 3000));
  EXPECT_FALSE(is_instruction(text, 3001));
}

TEST(ReturnSafety, FindsFunctionsThatUseTheirReturnAddress) {
  auto obstacle = [](std::string_view hex) {
    std::vector<uint8_t> bytes = bytes_of(hex);
    auto text = [&](Address at, uint64_t length) {
      if (at.value < 0x1000 || at.value >= 0x1000 + bytes.size()) return std::span<const uint8_t>();
      auto rest = std::span<const uint8_t>(bytes).subspan(at.value - 0x1000);
      return rest.first(std::min<uint64_t>(length, rest.size()));
    };
    // The only table is at 0x1000, and says where a case begins.
    auto read = [&](Address, std::span<uint8_t> into) {
      const std::vector<uint8_t> table = bytes_of("0e 10 00 00 00 00 00 00");
      std::copy(table.begin(), table.end(), into.begin());
      return table.size();
    };
    return return_obstacle(Address(0x1000), text, read, {});
  };
  const char* takes = "it takes its own return address off the stack";
  const char* looks = "it looks at its own return address";
  EXPECT_EQ(obstacle("5f b8 3a 00 00 00 0f 05 57 c3"), takes);                    // vfork: pop %rdi; syscall; push
  EXPECT_EQ(obstacle("31 ed 49 89 d1 5e 48 89 e2"), takes);                       // _start
  EXPECT_EQ(obstacle("48 89 1f 48 8b 04 24 48 89 47 38 31 c0 c3"), looks);        // setjmp: mov (%rsp), %rax
  EXPECT_EQ(obstacle("53 48 83 ec 10 48 8b 54 24 18 48 83 c4 10 5b c3"), looks);  // __builtin_return_address(0)
  EXPECT_EQ(obstacle("55 48 89 e5 48 8b 45 08 5d c3"), looks);                    // the same by frame pointer
  EXPECT_EQ(obstacle("31 f6 eb 00 48 8b 04 24 c3"), looks);                       // behind a tail jump
  EXPECT_EQ(obstacle("53 48 89 fb 48 8b 44 24 10 5b c3"), "");                    // an argument on the stack
  EXPECT_EQ(obstacle("48 8d 44 24 08 c3"), "");                                   // its address only
  EXPECT_EQ(obstacle("f0 48 83 0c 24 00 c3"), "");                                // lock orq $0, (%rsp): a barrier
  EXPECT_EQ(obstacle("f0 48 83 0c 24 01 c3"), looks);
  EXPECT_EQ(obstacle("85 ff 75 01 c3 48 8b 04 24 c3"), looks);  // behind a return
  // A case of a switch, at offset 14.
  EXPECT_EQ(obstacle("53 83 ff 05 77 0f ff 24 c5 00 10 00 00 90 48 8b 44 24 08 5b c3 5b c3"), looks);
  EXPECT_EQ(obstacle("55 48 89 e5 ff d0 48 89 c4 48 8b 45 08 c9 c3"), looks);  // mov %rax, %rsp; mov 8(%rbp), %rax
  EXPECT_EQ(obstacle("55 48 89 e5 48 83 e4 f0 c9 5a 52 c3"), takes);           // behind and $-16, %rsp; leave
  // lea -0x4000(%rsp), %r11; a page at a time: sub, orq $0, (%rsp), cmp, jne; sub $0xe20, %rsp
  const std::string probes =
      "53 4c 8d 9c 24 00 c0 ff ff 48 81 ec 00 10 00 00 48 83 0c 24 00 4c 39 dc 75 ef 48 81 ec 20 0e 00 00 ";
  EXPECT_EQ(obstacle(probes + "48 81 c4 20 4e 00 00 5b c3"), "");
  EXPECT_EQ(obstacle(probes + "48 8b 84 24 28 4e 00 00 48 81 c4 20 4e 00 00 5b c3"), looks);
}

TEST(ReturnSafety, FindsCallsOfFunctionsThatUseReturnAddresses) {
  auto obstacle = [](std::string_view hex, const ReturnReaders& readers) {
    std::vector<uint8_t> bytes = bytes_of(hex);
    auto text = [&](Address at, uint64_t length) {
      return at == Address(0x1000) ? std::span<const uint8_t>(bytes).first(std::min<uint64_t>(length, bytes.size()))
                                   : std::span<const uint8_t>();
    };
    return return_obstacle(Address(0x1000), text, [](Address, std::span<uint8_t>) { return size_t{0}; }, readers);
  };
  using testing::HasSubstr;
  const ReturnReaders dlsym{.own = {0x2000}, .callers = {}}, mcount{.own = {}, .callers = {0x2000}};
  for (const char* tail : {"e9 fb 0f 00 00", "ff 25 fa 0f 00 00"})
    EXPECT_THAT(obstacle(tail, dlsym), HasSubstr("ends with a call")) << tail;
  for (const char* call : {"e8 fb 0f 00 00 c3", "ff 15 fa 0f 00 00 c3"}) {
    EXPECT_EQ(obstacle(call, dlsym), "") << call;
    EXPECT_THAT(obstacle(call, mcount), HasSubstr("-pg")) << call;
  }
}

TEST(FunctionExits, LieBeforeReturnsAndWhereUnwindersLand) {
  auto exits = [](std::string_view hex) {
    std::string text;
    for (const FunctionExit& exit : find_exits(bytes_of(hex)))
      text += (exit.transfers ? " transfers " : " ") + std::to_string(exit.offset);
    return text;
  };
  EXPECT_EQ(exits("48 83 ec 08 41 5d 41 5e 41 5f 5d c3"), " 6");              // sub; pop; pop; pop; pop; ret: six bytes
  EXPECT_EQ(exits("74 01 c3 c3"), " 2 3");                                    // je: no run goes through it
  EXPECT_EQ(exits("48 89 cc 59 ff e1"), " transfers 0");                      // mov %rcx,%rsp; pop %rcx; jmp *%rcx
  EXPECT_EQ(exits("31 c0 48 89 cc c3 90 90 90 90 90 c3"), " transfers 2 7");  // mov %rcx,%rsp; ret, and another return
  EXPECT_EQ(exits("48 89 e5 ff e0 eb fe"), "");                               // tail jumps
}

// Code at `displaced` runs as it did at its own place.
TEST(Relocator, MovedCodeRuns) {
  auto* page = static_cast<uint8_t*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(page, MAP_FAILED);
  // long f(long n): xor %eax,%eax; test %rdi,%rdi; je 1f; lea 2f(%rip),%rax; mov (%rax),%rax; add %rdi,%rax; 1: ret
  std::vector<uint8_t> function = bytes_of(
      "31 c0 48 85 ff 74 0d 48 8d 05 07 00 00 00 48 8b 00 48 01 f8 c3 "
      "64 00 00 00 00 00 00 00");
  memcpy(page, function.data(), function.size());
  Address from(reinterpret_cast<uint64_t>(page)), to = from + 4096;
  Assembler out(to);
  for (size_t at = 0; at < 21;) {
    auto instruction = decode(std::span(function).subspan(at));
    ASSERT_TRUE(instruction);
    ASSERT_TRUE(
        relocate(*instruction, std::span(function).subspan(at, instruction->length), from + static_cast<int64_t>(at), out).ok());
    at += instruction->length;
  }
  std::vector<uint8_t> code = out.take();
  memcpy(page + 4096, code.data(), code.size());
  auto run = reinterpret_cast<long (*)(long)>(page + 4096);
  EXPECT_EQ(run(0), 0);
  EXPECT_EQ(run(5), 105);
  munmap(page, 8192);
}

}  // namespace
}  // namespace spile::engine::x86_64
