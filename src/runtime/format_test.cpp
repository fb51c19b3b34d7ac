#include "runtime/format.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <string>

#include "runtime/test_arena.h"

namespace spile::rt {
namespace {

struct TextSink {
  std::string text;
  void put(const char* bytes, uint64_t length) { text.append(bytes, length); }
  void fill(char byte, uint64_t count) { text.append(count, byte); }
};

std::string formatted(int64_t value, uint32_t conversion, uint32_t flags, int32_t width, int32_t precision) {
  TextSink sink;
  format_long(sink, value, conversion, {flags, width, precision});
  return sink.text;
}

std::string c_format(uint32_t flags, int32_t width, int32_t precision, const char* letters) {
  std::string format = "%";
  if (flags & kFormatLeft) format += '-';
  if (flags & kFormatZero) format += '0';
  if (flags & kFormatPlus) format += '+';
  if (flags & kFormatSpace) format += ' ';
  if (flags & kFormatAlternate) format += '#';
  if (width >= 0) format += std::to_string(width);
  if (precision >= 0) format += "." + std::to_string(precision);
  return format + letters;
}

#pragma clang diagnostic ignored "-Wformat-nonliteral"
TEST(Format, NumbersAgreeWithTheCLibrary) {
  struct {
    uint32_t conversion;
    const char* letters;
  } conversions[] = {
      {kFormatSigned, "ld"}, {kFormatUnsigned, "lu"}, {kFormatOctal, "lo"}, {kFormatHex, "lx"}, {kFormatHexUpper, "lX"}};
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    auto [conversion, letters] = conversions[random() % 5];
    int64_t value = static_cast<int64_t>(random()) >> (random() % 64);
    if (i % 50 == 0) value = i % 100 ? 0 : INT64_MIN;
    uint32_t flags = random() % 32;
    if (!value) flags &= ~uint32_t{kFormatAlternate};  // 0x0 here, 0 in C
    int32_t width = static_cast<int32_t>(random() % 30) - 1, precision = static_cast<int32_t>(random() % 25) - 1;
    std::string format = c_format(flags, width, precision, letters);
    char expected[128];
    snprintf(expected, sizeof(expected), format.c_str(), value);
    ASSERT_EQ(formatted(value, conversion, flags, width, precision), expected) << format << " of " << value;
  }
}

TEST(Format, StringsAndCharactersAgreeWithTheCLibrary) {
  std::mt19937 random(2);
  for (int i = 0; i < 10000; ++i) {
    std::string text(random() % 20, 'x');
    uint32_t flags = random() % 2;
    int32_t width = static_cast<int32_t>(random() % 30) - 1, precision = static_cast<int32_t>(random() % 25) - 1;
    char expected[128];
    snprintf(expected, sizeof(expected), c_format(flags, width, precision, "s").c_str(), text.c_str());
    TextSink sink;
    format_text(sink, text.data(), text.size(), {flags, width, precision});
    ASSERT_EQ(sink.text, expected);
    snprintf(expected, sizeof(expected), c_format(flags, width, -1, "c").c_str(), 'q');
    ASSERT_EQ(formatted('q', kFormatChar, flags, width, -1), expected);
  }
}

TEST(Format, AlternateHexHasItsPrefixBefore0Too) {
  EXPECT_EQ(formatted(0, kFormatHex, kFormatAlternate, -1, -1), "0x0");
  EXPECT_EQ(formatted(0, kFormatHexUpper, kFormatAlternate, 6, -1), "   0X0");
  EXPECT_EQ(formatted(0, kFormatHex, kFormatAlternate | kFormatZero, 6, -1), "0x0000");
}

TEST(Format, WidthOfAnArgumentBelowZeroAlignsLeft) {
  EXPECT_EQ(formatted(5, kFormatSigned, 0, -4, -1), "5   ");
  EXPECT_EQ(formatted(5, kFormatSigned, kFormatZero, -4, -1), "5   ");
  EXPECT_EQ(formatted(5, kFormatSigned, 0, 4, -7), "   5");
}

TEST(Format, CharactersThatCannotBePrintedAreEscaped) {
  auto escaped = [](int64_t value) { return formatted(value, kFormatChar, kFormatAlternate, -1, -1); };
  EXPECT_EQ(escaped('a') + escaped(' ') + escaped('~') + escaped('"'), "a ~\"");
  EXPECT_EQ(escaped('\n') + escaped('\a') + escaped('\r') + escaped('\v'), "\\n\\a\\r\\v");
  EXPECT_EQ(escaped('\\') + escaped('\'') + escaped(0) + escaped(14) + escaped(0x7f) + escaped(255),
            "\\\\\\'\\000\\016\\177\\377");
  EXPECT_EQ(formatted(1, kFormatChar, kFormatAlternate | kFormatLeft, 6, -1), "\\001  ");
}

TEST(Format, PointersAlwaysHaveTheirPrefix) {
  EXPECT_EQ(formatted(0x7fff1234, kFormatPointer, 0, -1, -1), "0x000000007fff1234");
  EXPECT_EQ(formatted(0, kFormatPointer, 0, -1, -1), "0x0000000000000000");
  EXPECT_EQ(formatted(16, kFormatPointer, kFormatZero, 8, -1), "0x000010");
  EXPECT_EQ(formatted(16, kFormatPointer, 0, 8, -1), "    0x10");
}

TEST(Format, BinaryWritesBytesInMemoryOrder) {
  EXPECT_EQ(formatted(0x0102, kFormatBinary, 0, 2, -1), std::string("\x02\x01", 2));
  EXPECT_EQ(formatted('A', kFormatBinary, 0, 1, -1), "A");
  EXPECT_EQ(formatted(0x0102, kFormatBinary, 0, 4, 2), std::string("\0\0\x02\x01", 4)) << "as many bytes as the precision";
  EXPECT_EQ(formatted(0x0102, kFormatBinary, kFormatLeft, 4, 2), std::string("\x02\x01\0\0", 4));
  EXPECT_EQ(formatted(0x0102, kFormatBinary, 0, -1, 1), "\x02");
  EXPECT_EQ(formatted(-1, kFormatBinary, 0, -1, -1), std::string(8, '\xff'));
}

TEST(Format, MemoryAsDigits) {
  TextSink sink;
  format_memory_hex(sink, "\x00\xab\x7f", 3, {0, 8, -1});
  EXPECT_EQ(sink.text, "  00ab7f");
}

TEST(Format, IntoAStringIsCutOffAtItsSize) {
  TestArena arena;
  test_string_size = 16;
  char out[32] = "0123456789abcdefGUARD";
  uint32_t at = spile_rt_format_literal(out, 0, "pid ", 4);
  at = spile_rt_format_long(out, at, -1234, kFormatSigned, 0, 7, -1);
  at = spile_rt_format_string(out, at, "longer than there is room", 0, -1, -1);
  at = spile_rt_format_long(out, at, 1, kFormatSigned, 0, 100, -1);
  spile_rt_format_end(out, at);
  EXPECT_STREQ(out, "pid   -1234long");
  EXPECT_STREQ(out + 16, "GUARD");
}

}  // namespace
}  // namespace spile::rt
