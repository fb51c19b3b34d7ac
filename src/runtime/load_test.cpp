#include <gtest/gtest.h>

#include <string>

#include "runtime/test_arena.h"

namespace spile::rt {
namespace {

class Loads : public testing::Test {
 protected:
  void SetUp() override {
    pages_ = static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_EQ(mprotect(pages_ + 4096, 4096, PROT_NONE), 0);
    ASSERT_TRUE(spile_rt_enter(&context_));
  }
  void TearDown() override { munmap(pages_, 8192); }
  bool load(const void* address, uint32_t size, bool is_signed = false) {
    value_ = 99;
    return spile_rt_load(&context_, reinterpret_cast<uint64_t>(address), size, is_signed, &value_);
  }
  int64_t text(const void* address, uint32_t limit = 512) {
    return spile_rt_load_string(&context_, reinterpret_cast<uint64_t>(address), out_, limit);
  }
  TestArena arena_;
  Context context_{};
  char* pages_;
  int64_t value_;
  char out_[512];
};

TEST_F(Loads, ExtendBySizeAndSign) {
  uint64_t word = 0x8182838485868788;
  struct {
    uint32_t size;
    int64_t zero, sign;
  } cases[] = {{1, 0x88, -0x78},
               {2, 0x8788, -0x7878},
               {4, 0x85868788, -0x7a797878},
               {8, INT64_C(-0x7e7d7c7b7a797878), INT64_C(-0x7e7d7c7b7a797878)}};
  for (auto& c : cases) {
    EXPECT_TRUE(load(&word, c.size));
    EXPECT_EQ(value_, c.zero);
    EXPECT_TRUE(load(&word, c.size, true));
    EXPECT_EQ(value_, c.sign);
  }
  EXPECT_FALSE(load(&word, 3));
}

TEST_F(Loads, BadAddressesFailWithZero) {
  for (uint64_t address : {uint64_t{0}, uint64_t{8}, uint64_t{0xffff888000000000}, uint64_t{0x0100000000000000},
                           reinterpret_cast<uint64_t>(pages_) + 4096, reinterpret_cast<uint64_t>(pages_) + 4092}) {
    for (uint32_t size : {1u, 2u, 4u, 8u}) {
      bool crosses = address % 4096 != 4092 || size == 8;
      EXPECT_EQ(load(reinterpret_cast<void*>(address), size), !crosses) << std::hex << address << " " << size;
      EXPECT_EQ(value_, 0);
    }
  }
}

TEST_F(Loads, StringsEndBeforeUnmappedMemory) {
  for (size_t n = 0; n < 30; ++n) {
    char* at = pages_ + 4096 - n - 1;
    std::string expected(n, 'z');
    std::memcpy(at, expected.c_str(), n + 1);
    EXPECT_EQ(text(at), static_cast<int64_t>(n));
    EXPECT_EQ(out_, expected);
    if (n > 0) {
      EXPECT_EQ(text(at, static_cast<uint32_t>(n - 1)), static_cast<int64_t>(n - 1));
      EXPECT_EQ(out_, expected.substr(1));
    }
    at[n] = 'z';  // unterminated
    EXPECT_EQ(text(at), -1);
    EXPECT_STREQ(out_, "");
    EXPECT_EQ(text(at, static_cast<uint32_t>(n + 1)), static_cast<int64_t>(n + 1));
  }
}

TEST_F(Loads, LongStringsAreCutAtTheStringSize) {
  test_string_size = 32;
  std::memset(pages_, 'q', 4095);
  out_[32] = '#';
  EXPECT_EQ(text(pages_), 31);
  EXPECT_EQ(text(pages_, 32), 31);
  EXPECT_EQ(out_, std::string(31, 'q'));
  EXPECT_EQ(out_[32], '#');
}

TEST_F(Loads, NotInTheControllerNorWithoutOne) {
  int64_t good = 5;
  arena_.header()->controller_futex[0] = 0x40000000;
  EXPECT_FALSE(load(&good, 8));
  EXPECT_EQ(text(&good), -1);
  arena_.header()->controller_futex[0] = 0;
  EXPECT_TRUE(load(&good, 8));
  test_in_controller = 1;
  EXPECT_FALSE(load(&good, 8));
  EXPECT_EQ(text(&good), -1);
}

}  // namespace
}  // namespace spile::rt
