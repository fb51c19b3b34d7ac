// Code in hex that the checker must refuse, or let pass. It lies behind the image's cells.

#include "engine/arch/x86_64/checker.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "abi/arena.h"
#include "engine/arch/x86_64/assembler.h"

namespace spile::engine::x86_64 {
namespace {

constexpr uint32_t kCode = sizeof(abi::ImageCells);

using Keeps = HandlerEntry::Keeps;

abi::CodeImage image_of(std::string_view hex) {
  abi::CodeImage image;
  image.bytes.resize(kCode);
  image.code_begin = kCode;
  for (size_t i = 0; i < hex.size(); i++) {
    if (hex[i] == ' ') continue;
    image.bytes.push_back(static_cast<uint8_t>(std::stoul(std::string(hex.substr(i, 2)), nullptr, 16)));
    i++;
  }
  image.code_end = static_cast<uint32_t>(image.bytes.size());
  return image;
}

std::string checked(std::string_view hex, bool registers = false, std::vector<abi::FaultFixup> fixups = {}, bool guru = false,
                    Keeps keeps = Keeps::kNone) {
  abi::CodeImage image = image_of(hex);
  image.fixups = std::move(fixups);
  image.guru = guru;
  HandlerEntry entry{kCode, registers, keeps};
  auto result = check_handlers(image, std::span(&entry, 1));
  if (result.ok()) return "";
  std::string message = result.error().message;
  size_t begin = message.find(": ") + 2;
  return message.substr(begin, message.find(" at 0x") - begin);
}

TEST(Checker, LetsHandlersPass) {
  EXPECT_EQ(checked("c3"), "");
  EXPECT_EQ(checked("50 53 5b 58 c3"), "");
  // mov arena(%rip), %rax; incq 0x1000(%rax); ret
  EXPECT_EQ(checked("48 8b 05 79 ff ff ff 48 ff 80 00 10 00 00 c3"), "");
  // sub $16, %rsp; mov %rdi, 8(%rsp); mov 8(%rsp), %rax; add $16, %rsp; ret
  EXPECT_EQ(checked("48 83 ec 10 48 89 7c 24 08 48 8b 44 24 08 48 83 c4 10 c3"), "");
  // mov 40(%rdi), %rax of an abi::Registers
  EXPECT_EQ(checked("48 8b 47 28 c3", true), "");
  // mov 40(%rdi), %rsi of an abi::Registers; mov %esi, %esi; mov arena(%rip), %rax; mov (%rax), %rcx; movb $0, (%rcx,%rsi):
  // numbers that the program chooses are positions in what is ours
  EXPECT_EQ(checked("48 8b 77 28 89 f6 48 8b 05 73 ff ff ff 48 8b 08 c6 04 31 00 c3", true), "");
}

TEST(Checker, RefusesStoresThroughWhatTheProgramChose) {
  const char* through = "a store through an address that is not the stack's or the arena's";
  EXPECT_EQ(checked("48 89 37 c3"), through);                             // mov %rsi, (%rdi)
  EXPECT_EQ(checked("48 8d 47 08 48 89 30 c3"), through);                 // lea 8(%rdi), %rax; mov %rsi, (%rax)
  EXPECT_EQ(checked("57 58 48 ff 00 c3"), through);                       // push %rdi; pop %rax; incq (%rax)
  EXPECT_EQ(checked("48 c7 04 25 00 00 40 00 01 00 00 00 c3"), through);  // movq $1, 0x400000
  EXPECT_EQ(checked("b8 00 00 40 00 c6 00 01 c3"), through);              // mov $0x400000, %eax; movb $1, (%rax)
  EXPECT_EQ(checked("48 89 f8 eb 00 48 89 30 c3"), through);              // behind a jump
  EXPECT_EQ(checked("89 ff 48 89 37 c3"), through);                       // mov %edi, %edi; mov %rsi, (%rdi)
  EXPECT_EQ(checked("48 8b 77 28 48 8b 05 75 ff ff ff 48 8b 08 c6 04 31 00 c3", true), through);  // beside what is ours
  EXPECT_EQ(checked("e8 01 00 00 00 c3 48 89 37 c3"), through);                                   // in a function that is called
  EXPECT_EQ(checked("e8 04 00 00 00 c6 00 01 c3 48 89 f8 c3"), through);                          // through what a call returns
  EXPECT_EQ(checked("f0 48 0f b1 37 c3"), through);                                               // lock cmpxchg %rsi, (%rdi)
  EXPECT_EQ(checked("f3 aa c3"), through);                                                        // rep stosb
  EXPECT_EQ(checked("48 8b 47 70 48 89 10 c3", true), through);              // through a register of the target's
  EXPECT_EQ(checked("48 89 37 c3", false, {{kCode, kCode + 3}}), through);   // a fix-up is no license ...
  EXPECT_EQ(checked("48 89 37 c3", false, {{kCode, kCode + 3}}, true), "");  // ... but a guru's
  EXPECT_EQ(checked("48 89 05 79 ff ff ff c3"), "a store to the image");
  EXPECT_EQ(checked("64 48 89 04 25 00 00 00 00 c3"), "a store to the thread's own storage");
}

TEST(Checker, RefusesLoadsThatMayFault) {
  EXPECT_EQ(checked("48 8b 07 c3"), "a load that may fault and has no fix-up");
  EXPECT_EQ(checked("48 8b 07 c3", false, {{kCode, kCode + 3}}), "");
  EXPECT_EQ(checked("48 8b 05 00 10 00 00 c3"), "a load outside the image");
}

TEST(Checker, RefusesControlThatLeaves) {
  EXPECT_EQ(checked("e9 00 10 00 00"), "a branch leaves the code");
  EXPECT_EQ(checked("e8 f0 ff ff ff c3"), "a branch leaves the code");
  EXPECT_EQ(checked("74 7f c3"), "a branch leaves the code");
  EXPECT_EQ(checked("ff e0"), "an indirect jump");
  EXPECT_EQ(checked("ff d0 c3"), "an indirect call");
  EXPECT_EQ(checked("ff 25 00 00 00 00"), "an indirect jump");
  EXPECT_EQ(checked("90 90"), "control flow leaves the end of the code");
  EXPECT_EQ(checked("74 01 b8 c3 00 00 00 c3"), "a branch leads into an instruction");
  EXPECT_EQ(checked("50 c3"), "a return with a misplaced stack pointer");
  EXPECT_EQ(checked("48 89 fc c3"), "a load that may fault and has no fix-up");  // mov %rdi, %rsp
}

TEST(Checker, RefusesStoresIntoTheFrameThatAreNotTheFrames) {
  EXPECT_EQ(checked("48 c7 04 24 00 00 00 00 c3"), "a store over the return address");  // movq $0, (%rsp)
  EXPECT_EQ(checked("48 89 7c 24 fc c3"), "a store over the return address");           // mov %rdi, -4(%rsp)
  EXPECT_EQ(checked("48 89 bc 24 00 ff ff ff c3"), "a store below the stack");          // mov %rdi, -256(%rsp)
  EXPECT_EQ(checked("48 89 7c 24 80 c3"), "");                                          // in the red zone
}

TEST(Checker, RefusesRegistersThatAreNotRestored) {
  auto with = [](Keeps keeps, std::string_view hex) { return checked(hex, false, {}, false, keeps); };
  const char* changed = "a return with a register that is not as it was";
  // push %rax; push %rbx; xor ...; pop %rbx; pop %rax; ret
  EXPECT_EQ(with(Keeps::kAll, "50 53 31 c0 31 db 5b 58 c3"), "");
  EXPECT_EQ(with(Keeps::kAll, "50 53 31 c0 31 db 58 5b c3"), changed);  // popped in the wrong order
  EXPECT_EQ(with(Keeps::kAll, "31 c0 c3"), changed);                    // xor %eax, %eax; ret
  EXPECT_EQ(with(Keeps::kAllButResult, "31 c0 c3"), "");
  EXPECT_EQ(with(Keeps::kAllButResult, "31 ff c3"), changed);  // xor %edi, %edi; ret
  EXPECT_EQ(with(Keeps::kAllButArguments, "31 ff 31 f6 c3"), "");
  EXPECT_EQ(with(Keeps::kAllButArguments, "31 c0 c3"), changed);
  // on one path: test %edi, %edi; je 1f; xor %ebx, %ebx; 1: ret
  EXPECT_EQ(with(Keeps::kAll, "85 ff 74 02 31 db c3"), changed);
  EXPECT_EQ(with(Keeps::kAll, "e8 01 00 00 00 c3 31 db c3"), changed);   // in a function that is called
  EXPECT_EQ(with(Keeps::kAll, "53 e8 02 00 00 00 5b c3 31 db c3"), "");  // which its caller makes up for
  EXPECT_EQ(checked("48 c7 47 08 01 00 00 00 c3", true), "");            // movq $1, 8(%rdi), of an abi::Registers
  EXPECT_EQ(checked("48 c7 87 00 01 00 00 01 00 00 00 c3", true), "a store beside the saved registers");
}

// Unwinds from an offset in the code, with rsp at 0x1000 and what is on the stack from there on. Returns "pc rsp rbx", or "".
std::string left(std::string_view hex, uint32_t at, std::vector<uint64_t> stack, Keeps keeps = Keeps::kAll) {
  const abi::CodeImage image = image_of(hex);
  const HandlerEntry entry{kCode, false, keeps};
  std::array<uint64_t, 16> registers{};
  for (uint64_t i = 0; i < 16; i++) registers[i] = 100 + i;
  registers[x86_64::kRsp] = 0x1000;
  constexpr uint64_t kImage = 0x100000;
  uint64_t pc = kImage + kCode + at;
  auto read = [&stack](uint64_t address) -> std::optional<uint64_t> {
    const uint64_t index = (address - 0x1000) / 8;
    return index < stack.size() ? std::optional(stack[index]) : std::nullopt;
  };
  if (!leave_handler(image, std::span(&entry, 1), kImage, pc, registers, read)) return "";
  return fmt::format("{:x} {:x} {}", pc, registers[x86_64::kRsp], registers[x86_64::kRbx]);
}

TEST(Checker, LeavesHandlersWithTheRegistersThatTheyFound) {
  constexpr std::string_view pushes = "53 31 db 90 5b c3";  // push %rbx; xor %ebx, %ebx; nop; pop %rbx; ret
  EXPECT_EQ(left(pushes, 0, {0x7000}), "7000 1008 103");
  EXPECT_EQ(left(pushes, 1, {55, 0x7000}), "7000 1010 103");  // it is still in the register, too
  EXPECT_EQ(left(pushes, 3, {55, 0x7000}), "7000 1010 55");
  EXPECT_EQ(left(pushes, 5, {0x7000}), "7000 1008 103");
  EXPECT_EQ(left(pushes, 2, {55, 0x7000}), "");  // inside an instruction
  EXPECT_EQ(left(pushes, 3, {55}), "");          // the stack can't be read
  // push %rbx; call 1f; pop %rbx; ret; 1: push %rbp; xor %ebx, %ebx; nop; pop %rbp; ret: from within the function called
  EXPECT_EQ(left("53 e8 02 00 00 00 5b c3 55 31 db 90 5d c3", 11, {66, 0x100000 + kCode + 6, 55, 0x7000}), "7000 1020 55");
}

TEST(Checker, RefusesWhatMayBeAnAddressOfTheProgramOnOnePath) {
  // mov arena(%rip), %rax; test %rsi, %rsi; je 1f; mov %rdi, %rax; 1: mov %rsi, (%rax)
  EXPECT_EQ(checked("48 8b 05 79 ff ff ff 48 85 f6 74 03 48 89 f8 48 89 30 c3"),
            "a store through an address that is not the stack's or the arena's");
  // The same by cmov.
  EXPECT_EQ(checked("48 8b 05 79 ff ff ff 48 85 f6 48 0f 45 c7 48 89 30 c3"),
            "a store through an address that is not the stack's or the arena's");
  // A null pointer is not stored through: xor %eax, %eax; test %rax, %rax; je 1f; movb $1, (%rax); 1: ret
  EXPECT_EQ(checked("31 c0 48 85 c0 74 03 c6 00 01 c3"), "");
  EXPECT_EQ(checked("31 c0 48 85 c0 75 03 c6 00 01 c3"), "a store through an address that is not the stack's or the arena's");
  // Nor is a number that was one before a call: a word of the frame may have changed.
  // push $1; mov %rsp, %rdi; call 2f; pop %rax; test %rax, %rax; jne 1f; movb $1, (%rax); 1: ret; 2: ret
  EXPECT_EQ(checked("6a 01 48 89 e7 e8 0b 00 00 00 58 48 85 c0 75 03 c6 00 01 c3 c3 c3"),
            "a store through an address that is not the stack's or the arena's");
  // But as a number it is added to an address, on whatever path it is another number:
  // mov arena(%rip), %rax; mov (%rax), %rdx; push $0; movb $1, (%rdx); pop %rcx; mov $5, %eax; test %rsi, %rsi; cmovne %rax,
  // %rcx;
  const std::string zero_or_five = "48 8b 05 79 ff ff ff 48 8b 10 6a 00 c6 02 01 59 b8 05 00 00 00 48 85 f6 48 0f 45 c8";
  EXPECT_EQ(checked(zero_or_five + "48 01 ca c6 02 01 c3"), "");  // add %rcx, %rdx; movb $1, (%rdx); ret
  EXPECT_EQ(checked(zero_or_five + "c6 01 01 c3"),                // movb $1, (%rcx); ret
            "a store through an address that is not the stack's or the arena's");
  // So it is with what was read on one path: mov arena(%rip), %rax; mov (%rax), %rdx; mov 8(%rax), %rcx; mov $5, %eax; test %rsi,
  // %rsi; cmovne %rax, %rcx;
  const std::string read_or_five = "48 8b 05 79 ff ff ff 48 8b 10 48 8b 48 08 b8 05 00 00 00 48 85 f6 48 0f 45 c8";
  EXPECT_EQ(checked(read_or_five + "48 01 ca c6 02 01 c3"), "");
  EXPECT_EQ(checked(read_or_five + "c6 01 01 c3"), "a store through an address that is not the stack's or the arena's");
  EXPECT_EQ(checked(read_or_five + "48 01 cf c6 07 01 c3"),  // add %rcx, %rdi: the program's; movb $1, (%rdi); ret
            "a store through an address that is not the stack's or the arena's");
  // A jump into what was passed before: mov arena, %rax; 1: mov %rsi, (%rax); mov %rdi, %rax; dec %ecx; jne 1b; ret
  EXPECT_EQ(checked("48 8b 05 79 ff ff ff 48 89 30 48 89 f8 ff c9 75 f6 c3"),
            "a store through an address that is not the stack's or the arena's");
}

TEST(Checker, RefusesLoopsWithoutEndAndDeepStacks) {
  EXPECT_EQ(checked("eb fe"), "a loop without an exit");
  EXPECT_EQ(checked("48 85 ff 74 02 eb fe c3"), "a loop without an exit");
  EXPECT_EQ(checked("ff c9 75 fc c3"), "");
  EXPECT_EQ(checked("48 81 ec 00 00 10 00 48 81 c4 00 00 10 00 c3"), "a stack of 1048576 bytes");
  EXPECT_EQ(checked("48 29 fc e8 00 00 00 00 c3"), "a call with a stack of unknown depth");  // sub %rdi, %rsp; call
}

TEST(Checker, RefusesSystemCalls) {
  const char* refused = "an instruction that is not allowed (syscall)";
  EXPECT_EQ(checked("b8 ba 00 00 00 0f 05 c3"), refused);                   // mov $186, %eax; syscall: gettid
  EXPECT_EQ(checked("b8 ea 00 00 00 0f 05 c3", false, {}, true), refused);  // a guru's
  EXPECT_EQ(checked("b8 14 00 00 00 cd 80 c3"), "an instruction that is not allowed (int)");
}

TEST(Checker, RefusesStrangeForms) {
  EXPECT_EQ(checked("c2 08 00"), "an instruction that is not allowed (ret)");
  EXPECT_EQ(checked("66 50 66 58 c3"), "an instruction that is not allowed (push)");
  EXPECT_EQ(checked("67 48 89 04 24 c3"), "an instruction that is not allowed (mov)");  // (%esp)
  EXPECT_EQ(checked("48 0f ab 3c 24 c3"), "an instruction that is not allowed (bts)");  // bts %rdi, (%rsp)
  EXPECT_EQ(checked("f2 0f 10 07 c3"), "an instruction that is not allowed (movsd)");
  EXPECT_EQ(checked("e2 fe c3"), "an instruction that is not allowed (loop)");
  EXPECT_EQ(checked("fd c3"), "an instruction that is not allowed (std)");
  EXPECT_EQ(checked("9d c3"), "an instruction that is not allowed (popfq)");
  EXPECT_EQ(checked("8e d8 c3"), "mov on a register that is not saved");  // mov %eax, %ds
}

TEST(Checker, LetsHandlersReadVectorRegistersOnly) {
  EXPECT_EQ(checked("66 48 0f 7e c0 c3"), "");                                           // movq %xmm0, %rax
  EXPECT_EQ(checked("66 4c 0f 7e f8 c3"), "");                                           // movq %xmm15, %rax
  EXPECT_EQ(checked("66 48 0f 6e c0 c3"), "an instruction that is not allowed (movq)");  // movq %rax, %xmm0
  EXPECT_EQ(checked("66 0f d6 04 24 c3"), "an instruction that is not allowed (movq)");  // movq %xmm0, (%rsp)
  EXPECT_EQ(checked("f3 0f 7e c1 c3"), "an instruction that is not allowed (movq)");     // movq %xmm1, %xmm0
  EXPECT_EQ(checked("48 0f 7e c0 c3"), "an instruction that is not allowed (movq)");     // movq %mm0, %rax
}

TEST(Checker, RefusesInstructionsOutsideItsList) {
  EXPECT_EQ(checked("0f 28 c1 c3"), "an instruction that is not allowed (movaps)");
  EXPECT_EQ(checked("66 0f ef c0 c3"), "an instruction that is not allowed (pxor)");
  EXPECT_EQ(checked("d9 e8 c3"), "an instruction that is not allowed (fld1)");
  EXPECT_EQ(checked("cd 80 c3"), "an instruction that is not allowed (int)");
  EXPECT_EQ(checked("cc c3"), "an instruction that is not allowed (int3)");
  EXPECT_EQ(checked("f4"), "an instruction that is not allowed (hlt)");
  EXPECT_EQ(checked("0f 01 ef c3"), "an instruction that is not allowed (wrpkru)");
  EXPECT_EQ(checked("f3 0f ae d0 c3"), "an instruction that is not allowed (wrfsbase)");
  EXPECT_EQ(checked("06"), "no instruction");
}

}  // namespace
}  // namespace spile::engine::x86_64
