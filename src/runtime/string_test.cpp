#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>

#include "runtime/test_arena.h"

namespace spile::rt {
namespace {

class Strings : public testing::Test {
 protected:
  void SetUp() override { test_string_size = 16; }
  TestArena arena_;
  char out_[64] = "0123456789abcdefGUARD";
};

TEST_F(Strings, CopyTruncatesAndStaysInItsBuffer) {
  SetUp();
  for (size_t n = 0; n < 40; ++n) {
    std::string text(n, 'x');
    spile_rt_string_copy(out_, text.c_str());
    EXPECT_EQ(out_, std::string(std::min<size_t>(n, 15), 'x'));
    EXPECT_STREQ(out_ + 16, "GUARD");
  }
}

TEST_F(Strings, ConcatenateTruncatesAndMayAlias) {
  test_string_size = 16;
  for (size_t a = 0; a < 20; ++a) {
    for (size_t b = 0; b < 20; ++b) {
      std::string first(std::min<size_t>(a, 15), 'a'), second(std::min<size_t>(b, 15), 'b');
      std::string expected = (first + second).substr(0, 15);
      spile_rt_string_concatenate(out_, first.c_str(), second.c_str());
      EXPECT_EQ(out_, expected);
      std::strcpy(out_, first.c_str());
      spile_rt_string_concatenate(out_, out_, second.c_str());
      EXPECT_EQ(out_, expected);
      std::strcpy(out_, second.c_str());
      spile_rt_string_concatenate(out_, first.c_str(), out_);
      EXPECT_EQ(out_, expected);
      std::strcpy(out_, first.c_str());
      spile_rt_string_concatenate(out_, out_, out_);
      EXPECT_EQ(out_, (first + first).substr(0, 15));
      EXPECT_STREQ(out_ + 16, "GUARD");
    }
  }
}

TEST_F(Strings, CompareIsByUnsignedBytes) {
  EXPECT_EQ(spile_rt_string_compare("abc", "abc"), 0);
  EXPECT_EQ(spile_rt_string_compare("abc", "abd"), -1);
  EXPECT_EQ(spile_rt_string_compare("abc", "ab"), 1);
  EXPECT_EQ(spile_rt_string_compare("", "a"), -1);
  EXPECT_EQ(spile_rt_string_compare("\x80", "a"), 1);
}

TEST_F(Strings, LengthDoesNotReadPastThePage) {
  test_string_size = 512;
  char* pages = static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(mprotect(pages + 4096, 4096, PROT_NONE), 0);
  for (size_t n = 0; n < 40; ++n) {
    char* text = pages + 4096 - n - 1;
    std::memset(text, 'x', n);
    pages[4095] = 0;
    EXPECT_EQ(spile_rt_string_length(text), n);
  }
  munmap(pages, 8192);
}

}  // namespace
}  // namespace spile::rt
