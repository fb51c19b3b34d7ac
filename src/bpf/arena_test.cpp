#include "bpf/arena.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "abi/kernel.h"

namespace spile::bpf {

namespace {

TEST(Arena, BeginsAboveAMultipleOf4GibZeroed) {
  if (!Arena::is_supported()) GTEST_SKIP() << "this kernel, or this user, has no BPF arenas";
  auto arena = Arena::create(1 << 20);
  ASSERT_TRUE(arena.ok()) << arena.error().message;
  EXPECT_EQ(reinterpret_cast<uint64_t>(arena->memory().data()) % (uint64_t{1} << 32), abi::kKernelArenaBase);
  EXPECT_EQ(arena->memory().size(), 1u << 20);
  ASSERT_TRUE(arena->populate(4096, 10000).ok());
  for (size_t i = 0; i < arena->memory().size(); i += 1000) EXPECT_EQ(arena->memory()[i], 0);
  arena->memory()[12345] = 7;
  EXPECT_EQ(arena->memory()[12345], 7);
}

TEST(Arena, LeavesNothingMappedWhenItIsGone) {
  if (!Arena::is_supported()) GTEST_SKIP() << "this kernel, or this user, has no BPF arenas";
  const uint8_t* place;
  {
    auto arena = Arena::create(8192);
    ASSERT_TRUE(arena.ok());
    place = arena->memory().data();
  }
  EXPECT_EQ(access(reinterpret_cast<const char*>(place), F_OK), -1);
  EXPECT_EQ(errno, EFAULT);
}

}  // namespace

}  // namespace spile::bpf
