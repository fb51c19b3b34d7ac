// Numbers of i386's and x32's system calls, against the system's own headers.

#include <asm/unistd_32.h>
#include <gtest/gtest.h>

#include <string>

#include "abi/system_calls.h"

namespace spile::abi::x86_64 {
namespace {

std::string name_of(uint64_t i386) { return system_call_name(static_cast<int32_t>(number_of_i386_call(i386))); }

TEST(ForeignCalls, HaveTheirOwnNames) {
  EXPECT_EQ(name_of(__NR_getppid), "getppid");
  EXPECT_EQ(name_of(__NR_chdir), "chdir");
  EXPECT_EQ(name_of(__NR_waitpid), "waitpid");
  EXPECT_EQ(name_of(__NR_umount), "umount");
  EXPECT_EQ(name_of(__NR_umount2), "umount2");
  EXPECT_EQ(name_of(__NR_socketcall), "socketcall");
  EXPECT_EQ(name_of(__NR_sigreturn), "sigreturn");
  EXPECT_EQ(name_of(__NR__llseek), "_llseek");
  EXPECT_EQ(name_of(__NR_mmap2), "mmap2");
  EXPECT_EQ(name_of(__NR_mmap), "old_mmap");
  EXPECT_EQ(name_of(__NR_select), "old_select");
  EXPECT_EQ(name_of(__NR_fadvise64_64), "fadvise64_64");
  EXPECT_EQ(name_of(__NR_openat), "openat");
  EXPECT_EQ(name_of(__NR_socket), "socket");
  EXPECT_EQ(name_of(__NR_futex_time64), "futex_time64");
  EXPECT_EQ(name_of(__NR_clone3), "clone3");
  EXPECT_EQ(name_of(__NR_futex_waitv), "futex_waitv");
  EXPECT_EQ(name_of(17), "break");
  EXPECT_EQ(name_of(469), "file_setattr");
  for (uint64_t unknown : {222, 470, 511, 512, 1000, 0x7fffffff}) EXPECT_EQ(name_of(unknown), "") << unknown;
}

TEST(ForeignCalls, OfX32AreThoseOf64Bits) {
  auto name = [](uint64_t number) { return std::string(system_call_name(static_cast<int32_t>(number_of_native_call(number)))); };
  EXPECT_EQ(name(39), "getpid");
  EXPECT_EQ(name(kX32Bit | 39), "getpid");
  EXPECT_EQ(name(kX32Bit | 512), "rt_sigaction");
  EXPECT_EQ(name(kX32Bit | 520), "execve");
  EXPECT_EQ(name(kX32Bit | 547), "pwritev2");
  EXPECT_EQ(number_of_native_call(kX32Bit | 548), kX32Bit | 548);
  EXPECT_EQ(number_of_native_call(~uint64_t{0}), ~uint64_t{0});
}

TEST(ForeignCalls, HaveArgumentsInTheRegistersOf64Bits) {
  Registers registers{};
  registers.rbx = 0xffffffff00000003;
  registers.rcx = 0x1000;
  registers.rdx = 8;
  registers.rsi = 0xdeadbeef;
  registers.rdi = 1;
  registers.site_id = __NR_pread64;
  make_native_call(registers);
  EXPECT_EQ(registers.rdi, 3u);
  EXPECT_EQ(registers.rsi, 0x1000u);
  EXPECT_EQ(registers.rdx, 8u);
  EXPECT_EQ(registers.r10, 0x1deadbeefu);
  EXPECT_EQ(system_call_name(static_cast<int32_t>(registers.site_id)), std::string("pread64"));
  EXPECT_TRUE(registers.flags & kForeignCallFlag);
}

TEST(ForeignCalls, JoinNumbersInTwoHalves) {
  auto joined = [](uint64_t number) {
    CallArguments arguments{{1, 2, 3, 4, 5, 6}};
    join_i386_arguments(number, arguments);
    std::string text;
    for (uint64_t each : arguments.of) text += std::to_string(each >> 32) + ":" + std::to_string(each & 0xffffffff) + " ";
    return text;
  };
  EXPECT_EQ(joined(__NR_getppid), "0:1 0:2 0:3 0:4 0:5 0:6 ");
  EXPECT_EQ(joined(__NR_clone), "0:1 0:2 0:3 0:5 0:4 0:6 ");
  EXPECT_EQ(joined(__NR_truncate64), "0:1 3:2 0:0 0:4 0:5 0:6 ");
  EXPECT_EQ(joined(__NR_sync_file_range), "0:1 3:2 5:4 0:6 0:0 0:0 ");
  EXPECT_EQ(joined(__NR_fallocate), "0:1 0:2 4:3 6:5 0:0 0:0 ");
  EXPECT_EQ(joined(__NR_fanotify_mark), "0:1 0:2 4:3 0:5 0:6 0:0 ");
  CallArguments back{{0, 0xffffffff}};
  join_i386_arguments(__NR_lseek, back);
  EXPECT_EQ(back.of[1], ~uint64_t{0});
}

}  // namespace
}  // namespace spile::abi::x86_64
