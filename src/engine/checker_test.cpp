// Code in hex that the checker must refuse, or let pass. It lies behind the image's 64 bytes of cells.

#include "engine/arch/x86_64/checker.h"

#include <gtest/gtest.h>

#include "abi/arena.h"

namespace spile::engine::x86_64 {
namespace {

constexpr uint32_t kCode = sizeof(abi::ImageCells);

std::string checked(std::string_view hex, bool registers = false, std::vector<abi::FaultFixup> fixups = {}, bool guru = false) {
  abi::CodeImage image;
  image.bytes.resize(kCode);
  image.code_begin = kCode;
  for (size_t i = 0; i < hex.size(); i++) {
    if (hex[i] == ' ') continue;
    image.bytes.push_back(static_cast<uint8_t>(std::stoul(std::string(hex.substr(i, 2)), nullptr, 16)));
    i++;
  }
  image.code_end = static_cast<uint32_t>(image.bytes.size());
  image.fixups = std::move(fixups);
  image.guru = guru;
  HandlerEntry entry{kCode, registers};
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
  EXPECT_EQ(checked("48 8b 05 b9 ff ff ff 48 ff 80 00 10 00 00 c3"), "");
  // sub $16, %rsp; mov %rdi, 8(%rsp); mov 8(%rsp), %rax; add $16, %rsp; ret
  EXPECT_EQ(checked("48 83 ec 10 48 89 7c 24 08 48 8b 44 24 08 48 83 c4 10 c3"), "");
  // mov 40(%rdi), %rax of an abi::Registers
  EXPECT_EQ(checked("48 8b 47 28 c3", true), "");
  // mov $186, %eax; syscall: gettid
  EXPECT_EQ(checked("b8 ba 00 00 00 0f 05 c3"), "");
}

TEST(Checker, RefusesStoresThroughWhatTheProgramChose) {
  const char* through = "a store through an address that is not the stack's or the arena's";
  EXPECT_EQ(checked("48 89 37 c3"), through);                                   // mov %rsi, (%rdi)
  EXPECT_EQ(checked("48 8d 47 08 48 89 30 c3"), through);                       // lea 8(%rdi), %rax; mov %rsi, (%rax)
  EXPECT_EQ(checked("57 58 48 ff 00 c3"), through);                             // push %rdi; pop %rax; incq (%rax)
  EXPECT_EQ(checked("48 c7 04 25 00 00 40 00 01 00 00 00 c3"), through);        // movq $1, 0x400000
  EXPECT_EQ(checked("b8 00 00 40 00 c6 00 01 c3"), through);                    // mov $0x400000, %eax; movb $1, (%rax)
  EXPECT_EQ(checked("48 89 f8 eb 00 48 89 30 c3"), through);                    // behind a jump
  EXPECT_EQ(checked("e8 01 00 00 00 c3 48 89 37 c3"), through);                 // in a function that is called
  EXPECT_EQ(checked("e8 04 00 00 00 c6 00 01 c3 48 89 f8 c3"), through);        // through what a call returns
  EXPECT_EQ(checked("f0 48 0f b1 37 c3"), through);                             // lock cmpxchg %rsi, (%rdi)
  EXPECT_EQ(checked("f3 aa c3"), through);                                      // rep stosb
  EXPECT_EQ(checked("48 8b 47 70 48 89 10 c3", true), through);                 // through a register of the target's
  EXPECT_EQ(checked("48 89 37 c3", false, {{kCode, kCode + 3}}), through);      // a fix-up is no licence ...
  EXPECT_EQ(checked("48 89 37 c3", false, {{kCode, kCode + 3}}, true), "");     // ... but a guru's
  EXPECT_EQ(checked("48 89 05 b9 ff ff ff c3"), "a store to the image");
  EXPECT_EQ(checked("64 48 89 04 25 00 00 00 00 c3"), "a store to the thread's own storage");
}

TEST(Checker, RefusesLoadsThatMayFault) {
  EXPECT_EQ(checked("48 8b 07 c3"), "a load that may fault and has no fix-up");
  EXPECT_EQ(checked("48 8b 07 c3", false, {{kCode, kCode + 3}}), "");
  EXPECT_EQ(checked("48 8b 05 00 10 00 00 c3"), "a load beside the image");
}

TEST(Checker, RefusesControlThatLeaves) {
  EXPECT_EQ(checked("e9 00 10 00 00"), "a branch leaves the code");
  EXPECT_EQ(checked("e8 f0 ff ff ff c3"), "a branch leaves the code");
  EXPECT_EQ(checked("74 7f c3"), "a branch leaves the code");
  EXPECT_EQ(checked("ff e0"), "an indirect jump");
  EXPECT_EQ(checked("ff d0 c3"), "an indirect call");
  EXPECT_EQ(checked("ff 25 00 00 00 00"), "an indirect jump");
  EXPECT_EQ(checked("90 90"), "control runs out of the code");
  EXPECT_EQ(checked("74 01 b8 c3 00 00 00 c3"), "a branch leads into an instruction");
  EXPECT_EQ(checked("50 c3"), "a return that does not find its address");
  EXPECT_EQ(checked("48 89 fc c3"), "a load that may fault and has no fix-up");  // mov %rdi, %rsp
}

TEST(Checker, RefusesInstructionsOutsideItsList) {
  EXPECT_EQ(checked("0f 28 c1 c3"), "an instruction that is not allowed (movaps)");
  EXPECT_EQ(checked("66 0f ef c0 c3"), "an instruction that is not allowed (pxor)");
  EXPECT_EQ(checked("d9 e8 c3"), "an instruction that is not allowed (fld1)");
  EXPECT_EQ(checked("cd 80 c3"), "an instruction that is not allowed (int)");
  EXPECT_EQ(checked("f4"), "an instruction that is not allowed (hlt)");
  EXPECT_EQ(checked("0f 01 ef c3"), "an instruction that is not allowed (wrpkru)");
  EXPECT_EQ(checked("f3 0f ae d0 c3"), "an instruction that is not allowed (wrfsbase)");
  EXPECT_EQ(checked("06"), "no instruction");
  EXPECT_EQ(checked("b8 3b 00 00 00 0f 05 c3"), "a system call that is not allowed");  // execve
  EXPECT_EQ(checked("89 f8 0f 05 c3"), "a system call that is not allowed");           // any
  EXPECT_EQ(checked("b8 3e 00 00 00 be 09 00 00 00 0f 05 c3"), "a system call that is not allowed");  // kill(, 9)
}

}  // namespace
}  // namespace spile::engine::x86_64
