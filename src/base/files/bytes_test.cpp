// Bytes that end too early, numbers that are too long, sizes that overflow: a cursor fails, and reads nothing.
#include "base/files/bytes.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>

namespace spile {
namespace {

std::string bytes_of(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes += static_cast<char>(value);
  return bytes;
}

uint64_t uleb_of(const std::string& bytes) { return ByteCursor(bytes).uleb(); }
int64_t sleb_of(const std::string& bytes) { return ByteCursor(bytes).sleb(); }
std::string unsigned_bytes(uint64_t value) {
  std::string bytes;
  append_uleb(bytes, value);
  return bytes;
}
std::string signed_bytes(int64_t value) {
  std::string bytes;
  append_sleb(bytes, value);
  return bytes;
}
bool fails(const std::string& bytes, auto read) {
  ByteCursor in(bytes);
  return read(in) == 0 && in.failed() && in.at_end() && in.left() == 0;
}
bool uleb_fails(const std::string& bytes) {
  return fails(bytes, [](ByteCursor& in) { return in.uleb(); });
}
bool sleb_fails(const std::string& bytes) {
  return fails(bytes, [](ByteCursor& in) { return in.sleb(); });
}

TEST(Leb128, OfTheDwarfStandardsExamples) {
  EXPECT_EQ(uleb_of(bytes_of({2})), 2u);
  EXPECT_EQ(uleb_of(bytes_of({127})), 127u);
  EXPECT_EQ(uleb_of(bytes_of({0x80, 1})), 128u);
  EXPECT_EQ(uleb_of(bytes_of({57 + 0x80, 100})), 12857u);
  EXPECT_EQ(sleb_of(bytes_of({2})), 2);
  EXPECT_EQ(sleb_of(bytes_of({0x7e})), -2);
  EXPECT_EQ(sleb_of(bytes_of({127 + 0x80, 0})), 127);
  EXPECT_EQ(sleb_of(bytes_of({1 + 0x80, 0x7f})), -127);
  EXPECT_EQ(sleb_of(bytes_of({0x80, 1})), 128);
  EXPECT_EQ(sleb_of(bytes_of({0x80, 0x7f})), -128);
}

TEST(Leb128, IsReadAsItWasAppended) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const uint64_t value : {uint64_t{1} << bit, (uint64_t{1} << bit) - 1, ~(uint64_t{1} << bit)}) {
      EXPECT_EQ(uleb_of(unsigned_bytes(value)), value);
      EXPECT_EQ(sleb_of(signed_bytes(static_cast<int64_t>(value))), static_cast<int64_t>(value));
    }
  }
  EXPECT_EQ(unsigned_bytes(UINT64_MAX).size(), 10u);
  EXPECT_EQ(signed_bytes(INT64_MIN).size(), 10u);
  EXPECT_EQ(signed_bytes(63).size(), 1u);
  EXPECT_EQ(signed_bytes(-64).size(), 1u);
}

TEST(Leb128, ThatEndsTooEarlyFails) {
  EXPECT_TRUE(uleb_fails(""));
  EXPECT_TRUE(sleb_fails(""));
  for (size_t size = 1; size < 12; ++size) {
    EXPECT_TRUE(uleb_fails(std::string(size, '\x80'))) << size;
    EXPECT_TRUE(sleb_fails(std::string(size, '\xff'))) << size;
  }
}

TEST(Leb128, OfMoreThanTenBytesFails) {
  EXPECT_EQ(uleb_of(bytes_of({0x85, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0})), 5u);
  EXPECT_EQ(sleb_of(bytes_of({0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})), -5);
  EXPECT_TRUE(uleb_fails(bytes_of({0x85, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0})));
  EXPECT_TRUE(sleb_fails(bytes_of({0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})));
  EXPECT_TRUE(uleb_fails(std::string(1000, '\xff') + std::string(1, '\0')));
}

TEST(Leb128, DropsBitsAbove64) {
  EXPECT_EQ(uleb_of(bytes_of({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})), UINT64_MAX);
  EXPECT_EQ(uleb_of(bytes_of({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7e})), 0u);
}

TEST(ByteCursor, ReadsInARow) {
  const std::string bytes = bytes_of({1, 2, 0, 'a', 'b', 0, 0xff, 0xff, 3, 4, 5, 9});
  ByteCursor in(bytes);
  EXPECT_EQ(in.fixed<uint8_t>(), 1);
  EXPECT_EQ(in.number(2), 2u);
  EXPECT_EQ(in.text(), "ab");
  EXPECT_EQ(in.fixed<int16_t>(), -1);
  EXPECT_EQ(in.number(3), 0x050403u);
  EXPECT_EQ(in.at(), 11u);
  EXPECT_EQ(in.rest(), "\t");
  in.skip(1);
  EXPECT_TRUE(in.at_end());
  EXPECT_FALSE(in.failed());
}

TEST(ByteCursor, ReadsNothingPastTheEnd) {
  EXPECT_TRUE(fails("abc", [](ByteCursor& in) { return in.fixed<uint32_t>(); }));
  EXPECT_TRUE(fails("abc", [](ByteCursor& in) { return in.number(4); }));
  EXPECT_TRUE(fails("abc", [](ByteCursor& in) { return in.text().size(); }));
  EXPECT_TRUE(fails("abc", [](ByteCursor& in) { return in.take(4).size(); }));
  EXPECT_TRUE(fails("", [](ByteCursor& in) { return in.number(8); }));
  ByteCursor in("abc");
  EXPECT_EQ(in.take(3), "abc");
  EXPECT_FALSE(in.failed());
  EXPECT_EQ(in.number(0), 0u);
  EXPECT_EQ(in.take(0), "");
  EXPECT_FALSE(in.failed());
}

TEST(ByteCursor, FailsForSizesThatWouldOverflow) {
  for (const uint64_t size : {uint64_t{3}, UINT64_MAX, UINT64_MAX - 1, uint64_t{1} << 63, uint64_t{1} << 32}) {
    const auto begins_late = [&](auto use) {
      ByteCursor in("abc");
      in.skip(1);
      use(in);
      return in.failed() && in.at_end() && in.at() == 3;
    };
    EXPECT_TRUE(begins_late([&](ByteCursor& in) { in.skip(size); }));
    EXPECT_TRUE(begins_late([&](ByteCursor& in) { (void)in.take(size); }));
    if (size > 3) EXPECT_TRUE(begins_late([&](ByteCursor& in) { in.move_to(size); }));
    if (size > 3) EXPECT_TRUE(ByteCursor("abc", size).failed());
  }
  EXPECT_FALSE(ByteCursor("abc", 3).failed());
}

TEST(ByteCursor, StaysFailed) {
  ByteCursor in("abc");
  in.skip(4);
  in.move_to(0);
  EXPECT_TRUE(in.failed());
  in.fail();
  EXPECT_EQ(in.number(1), 0u);
  EXPECT_EQ(in.uleb(), 0u);
}

TEST(ByteReader, ReadsWhatWasWritten) {
  ByteWriter out;
  out.number(300);
  out.text("a\0b");
  out.text({"a\0b", 3});
  for (const int64_t value : {int64_t{0}, int64_t{-1}, INT64_MIN, INT64_MAX}) out.signed_number(value);
  const std::string bytes = out.take();
  EXPECT_EQ(out.size(), 0u);
  ByteReader in(bytes);
  EXPECT_EQ(in.number_up_to(300), 300u);
  EXPECT_EQ(in.text(), "a");
  EXPECT_EQ(in.text(), std::string("a\0b", 3));
  for (const int64_t value : {int64_t{0}, int64_t{-1}, INT64_MIN, INT64_MAX}) EXPECT_EQ(in.signed_number(), value);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.number(), 0u);
  EXPECT_FALSE(in.ok());
}

TEST(ByteReader, RefusesTextsLongerThanTheRest) {
  for (const uint64_t length : {uint64_t{4}, UINT64_MAX, uint64_t{1} << 40}) {
    const std::string bytes = unsigned_bytes(length) + "abc";
    ByteReader in(bytes);
    EXPECT_EQ(in.text(), "");
    EXPECT_FALSE(in.ok());
  }
  const std::string large = unsigned_bytes(8);
  ByteReader in(large);
  EXPECT_EQ(in.number_up_to(7), 0u);
  EXPECT_FALSE(in.ok());
}

}  // namespace
}  // namespace spile
