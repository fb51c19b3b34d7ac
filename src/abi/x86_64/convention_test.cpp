// The tables of x86-64, against the numbers and layouts of the system's own headers.

#include <asm/ptrace.h>
#include <gtest/gtest.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>

#include "abi/native_elf.h"
#include "abi/system_calls.h"
#include "abi/trampoline.h"
#include "abi/vector_register.h"

namespace spile::abi {
namespace {

TEST(RegisterNames, StandForARegisterOrAPartOfIt) {
  struct Case {
    const char* text;
    int number, bits, shift;
  };
  for (const Case& each : {Case{"rax", 0, 64, 0},
                           {"%eax", 0, 32, 0},
                           {"ax", 0, 16, 0},
                           {"bx", 3, 16, 0},
                           {"sp", 7, 16, 0},
                           {"di", 5, 16, 0},
                           {"ip", 16, 64, 0},
                           {"al", 0, 8, 0},
                           {"ah", 0, 8, 8},
                           {"rdx", 1, 64, 0},
                           {"sil", 4, 8, 0},
                           {"r10d", 10, 32, 0},
                           {"r15w", 15, 16, 0},
                           {"rip", 16, 64, 0},
                           {"flags", 17, 32, 0}}) {
    const RegisterName* found = find_register(each.text);
    ASSERT_TRUE(found) << each.text;
    EXPECT_EQ(found->number, each.number) << each.text;
    EXPECT_EQ(found->bits, each.bits) << each.text;
    EXPECT_EQ(found->shift, each.shift) << each.text;
  }
  for (const char* unknown : {"", "%", "ra", "raxx", "r16", "xmm0"}) EXPECT_FALSE(find_register(unknown)) << unknown;
}

TEST(RegisterNames, OfVectorsAreTheirOwn) {
  EXPECT_EQ(find_vector_register("xmm0"), kConvention.first_vector);
  EXPECT_EQ(find_vector_register("%xmm15"), kConvention.first_vector + 15);
  for (const char* unknown : {"", "%", "xmm", "xmm16", "xmm00", "xmm-1", "xmm1d", "xmm99999999999999999999", "rax", "ymm0"})
    EXPECT_EQ(find_vector_register(unknown), -1) << unknown;
}

TEST(RegisterNames, OfListingsAreTheWholeRegisters) {
  EXPECT_STREQ(register_name(0), "rax");
  EXPECT_STREQ(register_name(7), "rsp");
  EXPECT_STREQ(register_name(15), "r15");
  EXPECT_STREQ(register_name(16), "rip");
}

TEST(RegisterList, KnowsPlacesOfItsRegisters) {
  EXPECT_EQ(kConvention.argument_registers.find(5), 0u);
  EXPECT_EQ(kConvention.argument_registers.find(9), 5u);
  EXPECT_EQ(kConvention.argument_registers.find(0), kConvention.argument_registers.size());
  EXPECT_TRUE(kConvention.result_registers.has(1));
  EXPECT_FALSE(kConvention.result_registers.has(2));
}

TEST(Convention, PutsTheSeventhArgumentWhereTheCfaIs) {
  EXPECT_EQ(kConvention.stack_argument(6), 0);
  EXPECT_EQ(kConvention.stack_argument(8), 16);
}

TEST(Convention, LetsHandlersWriteGeneralRegistersButTheStackPointer) {
  EXPECT_TRUE(may_be_written(0));
  EXPECT_TRUE(may_be_written(15));
  for (int number : {-1, 7, 16, 17}) EXPECT_FALSE(may_be_written(number)) << number;
}

TEST(Registers, AreReadByWhatTheyAreFor) {
  Registers registers{};
  registers.rax = 1, registers.rdi = 2, registers.rsi = 3, registers.r10 = 4, registers.rsp = 5, registers.rip = 6;
  EXPECT_EQ(system_call_number(registers), 1u);
  EXPECT_EQ(system_call_result(registers), 1u);
  EXPECT_EQ(system_call_argument(registers, 0), 2u);
  EXPECT_EQ(system_call_argument(registers, 1), 3u);
  EXPECT_EQ(system_call_argument(registers, 3), 4u);
  EXPECT_EQ(stack_pointer(registers), 5u);
  EXPECT_EQ(program_counter(registers), 6u);
}

TEST(SystemCalls, HaveTheNumbersOfTheHeaders) {
  EXPECT_EQ(system_call_number("read"), SYS_read);
  EXPECT_EQ(system_call_number("rseq"), SYS_rseq);
  EXPECT_EQ(system_call_number("pidfd_send_signal"), SYS_pidfd_send_signal);
  EXPECT_EQ(system_call_number("futex_waitv"), SYS_futex_waitv);
  EXPECT_EQ(system_call_number("uretprobe"), 335);
  EXPECT_EQ(system_call_number("cachestat"), 451);
  EXPECT_EQ(system_call_number("file_setattr"), 469);
  EXPECT_EQ(system_call_number(""), -1);
  EXPECT_EQ(system_call_number("newstat"), -1);
  EXPECT_EQ(traced_system_call_number("newstat"), SYS_stat);
  EXPECT_EQ(traced_system_call_number("umount"), SYS_umount2);
  EXPECT_EQ(traced_system_call_number("openat"), SYS_openat);
}

TEST(KernelLayout, IsThatOfTheKernelsHeaders) {
  const auto& at = kKernelLayout.pt_regs;
  EXPECT_EQ(at[x86_64::kRax], offsetof(pt_regs, rax));
  EXPECT_EQ(at[x86_64::kRdx], offsetof(pt_regs, rdx));
  EXPECT_EQ(at[x86_64::kRcx], offsetof(pt_regs, rcx));
  EXPECT_EQ(at[x86_64::kRbx], offsetof(pt_regs, rbx));
  EXPECT_EQ(at[x86_64::kRsi], offsetof(pt_regs, rsi));
  EXPECT_EQ(at[x86_64::kRdi], offsetof(pt_regs, rdi));
  EXPECT_EQ(at[x86_64::kRbp], offsetof(pt_regs, rbp));
  EXPECT_EQ(at[x86_64::kRsp], offsetof(pt_regs, rsp));
  EXPECT_EQ(at[x86_64::kR8], offsetof(pt_regs, r8));
  EXPECT_EQ(at[x86_64::kR9], offsetof(pt_regs, r9));
  EXPECT_EQ(at[x86_64::kR10], offsetof(pt_regs, r10));
  EXPECT_EQ(at[x86_64::kR15], offsetof(pt_regs, r15));
  EXPECT_EQ(at[x86_64::kRip], offsetof(pt_regs, rip));
  EXPECT_EQ(kKernelLayout.pt_regs_call, offsetof(pt_regs, orig_rax));
  EXPECT_EQ(kKernelLayout.pt_regs_code, offsetof(pt_regs, cs));
  auto in_frame = [](int place) { return offsetof(ucontext_t, uc_mcontext.gregs) + sizeof(greg_t) * static_cast<size_t>(place); };
  EXPECT_EQ(kKernelLayout.signal_frame_pointer, in_frame(REG_RBP));
  EXPECT_EQ(kKernelLayout.signal_stack_pointer, in_frame(REG_RSP));
  EXPECT_EQ(kKernelLayout.signal_program_counter, in_frame(REG_RIP));
  EXPECT_EQ(kKernelLayout.sampled.size(), static_cast<size_t>(__builtin_popcountll(kKernelLayout.sampled_bits)));
}

}  // namespace
}  // namespace spile::abi
