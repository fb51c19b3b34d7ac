// What is written is read again in each form of numbers; bytes that no writer makes are refused, and take no memory.
#include "base/files/archive.h"

#include <gtest/gtest.h>

#include <limits>

namespace spile {
namespace {

enum class Color { kRed, kGreen, kBlue };
enum class Small : int8_t { kFirst, kSecond };

template <Numbers kHow>
struct Format {
  static constexpr Numbers kNumbers = kHow;
  static constexpr Color last(Color) { return Color::kBlue; }
  static constexpr Small last(Small) { return Small::kSecond; }
};

struct Inner {
  int32_t number = 0;
  std::string text;
  bool operator==(const Inner&) const = default;
};
template <class A>
void fields(A& a, Like<Inner> auto& i) {
  a(i.number, i.text);
}

struct Outer {
  Color color = Color::kRed;
  Small small = Small::kFirst;
  bool is_known = false;
  int64_t least = 0;
  uint64_t most = 0;
  uint8_t narrow = 0;
  FileAddress address;
  std::vector<Inner> inner;
  std::vector<uint8_t> bytes;
  std::vector<bool> truths;
  std::set<std::string, std::less<>> names;
  std::optional<Inner> maybe, never;
  std::shared_ptr<const Inner> shared, none;
  std::chrono::steady_clock::time_point when;
};
template <class A>
void fields(A& a, Like<Outer> auto& o) {
  a(o.color, o.small, o.is_known, o.least, o.most, o.narrow, o.address, o.inner, o.bytes, o.truths, o.names, o.maybe, o.never,
    o.shared, o.none, o.when);
}

Outer outer() {
  Outer made;
  made.color = Color::kBlue;
  made.small = Small::kSecond;
  made.is_known = true;
  made.least = INT64_MIN;
  made.most = UINT64_MAX;
  made.narrow = 255;
  made.address = FileAddress(0x4010);
  made.inner = {{-1, "one"}, {std::numeric_limits<int32_t>::min(), std::string("t\0o", 3)}};
  made.bytes = {0, 255, 7};
  made.truths = {true, false, true};
  made.names = {"a", "b"};
  made.maybe = Inner{3, "maybe"};
  made.shared = std::make_shared<const Inner>(Inner{4, "shared"});
  made.when = std::chrono::steady_clock::time_point(std::chrono::steady_clock::duration(-5));
  return made;
}

template <Numbers kHow>
std::string written(const auto& value) {
  ArchiveWriter<Format<kHow>> out;
  out(value);
  return out.take();
}
template <Numbers kHow, class T>
bool is_read(const std::string& bytes, T& value) {
  ArchiveReader<Format<kHow>> in(bytes);
  return in(value) && in.at_end();
}

template <Numbers kHow>
void expect_read_again() {
  const std::string bytes = written<kHow>(outer());
  Outer read;
  ASSERT_TRUE(is_read<kHow>(bytes, read));
  const Outer wanted = outer();
  EXPECT_EQ(read.color, wanted.color);
  EXPECT_EQ(read.small, wanted.small);
  EXPECT_TRUE(read.is_known);
  EXPECT_EQ(read.least, wanted.least);
  EXPECT_EQ(read.most, wanted.most);
  EXPECT_EQ(read.narrow, wanted.narrow);
  EXPECT_EQ(read.address, wanted.address);
  EXPECT_EQ(read.inner, wanted.inner);
  EXPECT_EQ(read.bytes, wanted.bytes);
  EXPECT_EQ(read.truths, wanted.truths);
  EXPECT_EQ(read.names, wanted.names);
  EXPECT_EQ(read.maybe, wanted.maybe);
  EXPECT_FALSE(read.never);
  ASSERT_TRUE(read.shared);
  EXPECT_EQ(*read.shared, *wanted.shared);
  EXPECT_FALSE(read.none);
  EXPECT_EQ(read.when, wanted.when);
  for (size_t size = 0; size < bytes.size(); ++size) {
    Outer cut;
    EXPECT_FALSE(is_read<kHow>(bytes.substr(0, size), cut)) << size;
  }
}

TEST(Archive, ReadsWhatWasWritten) {
  expect_read_again<Numbers::kShort>();
  expect_read_again<Numbers::kEight>();
  expect_read_again<Numbers::kAsMemory>();
}

TEST(Archive, WritesNumbersAsItsFormatSays) {
  EXPECT_EQ(written<Numbers::kShort>(Inner{-1, "x"}), std::string("\1\1x", 3));
  EXPECT_EQ(written<Numbers::kEight>(Inner{-1, "x"}), std::string(8, '\xff') + std::string("\1\0\0\0\0\0\0\0x", 9));
  EXPECT_EQ(written<Numbers::kAsMemory>(Inner{-1, "x"}), std::string(4, '\xff') + std::string("\1\0\0\0\0\0\0\0x", 9));
  EXPECT_EQ(written<Numbers::kShort>(Color::kBlue), "\2");
  EXPECT_EQ(written<Numbers::kAsMemory>(Color::kBlue).size(), sizeof(int));
  EXPECT_EQ(written<Numbers::kAsMemory>(true).size(), 1u);
}

TEST(Archive, RefusesValuesThatATypeCanNotHave) {
  uint8_t narrow = 7;
  EXPECT_FALSE(is_read<Numbers::kShort>(written<Numbers::kShort>(uint64_t{256}), narrow));
  EXPECT_FALSE(is_read<Numbers::kEight>(written<Numbers::kEight>(uint64_t{256}), narrow));
  int8_t sign = 7;
  EXPECT_FALSE(is_read<Numbers::kShort>(written<Numbers::kShort>(int64_t{-129}), sign));
  EXPECT_FALSE(is_read<Numbers::kEight>(written<Numbers::kEight>(uint64_t{255}), sign));
  Color color = Color::kGreen;
  EXPECT_FALSE(is_read<Numbers::kShort>(written<Numbers::kShort>(uint64_t{3}), color));
  EXPECT_FALSE(is_read<Numbers::kEight>(written<Numbers::kEight>(uint64_t{1} << 32), color));
  EXPECT_FALSE(is_read<Numbers::kAsMemory>(written<Numbers::kAsMemory>(-1), color));
  Small small = Small::kFirst;
  EXPECT_FALSE(is_read<Numbers::kAsMemory>(std::string("\x80"), small));
  EXPECT_FALSE(is_read<Numbers::kAsMemory>(std::string("\2"), small));
  bool truth = true;
  EXPECT_FALSE(is_read<Numbers::kAsMemory>(std::string("\2"), truth));
  EXPECT_FALSE(is_read<Numbers::kShort>(std::string("\2"), truth));
  EXPECT_FALSE(is_read<Numbers::kEight>(written<Numbers::kEight>(uint64_t{256}), truth));
  // What can't be read stays as it was.
  EXPECT_EQ(narrow, 7);
  EXPECT_EQ(color, Color::kGreen);
  EXPECT_TRUE(truth);
}

// Each takes gigabytes of memory, if its length is believed.
TEST(Archive, RefusesLengthsBeyondTheRest) {
  for (const uint64_t length : {uint64_t{4}, uint64_t{1} << 40, UINT64_MAX, UINT64_MAX / sizeof(Inner)}) {
    const std::string bytes = written<Numbers::kEight>(length) + "abc";
    std::string text;
    std::vector<uint8_t> raw;
    std::vector<Inner> inner;
    std::set<std::string, std::less<>> names;
    EXPECT_FALSE(is_read<Numbers::kEight>(bytes, text));
    EXPECT_FALSE(is_read<Numbers::kEight>(bytes, raw));
    EXPECT_FALSE(is_read<Numbers::kEight>(bytes, inner));
    EXPECT_FALSE(is_read<Numbers::kEight>(bytes, names));
    EXPECT_TRUE(text.empty() && raw.empty() && inner.empty() && names.empty());
  }
}

TEST(Archive, FailsForGoodAfterAFailure) {
  const std::string bytes = written<Numbers::kShort>(uint64_t{300});
  ArchiveReader<Format<Numbers::kShort>> in(bytes);
  uint8_t narrow = 0;
  uint64_t wide = 7;
  EXPECT_FALSE(in(narrow, wide));
  EXPECT_FALSE(in(wide));
  EXPECT_EQ(wide, 7u);
  EXPECT_FALSE(in.at_end());
}

TEST(Archive, CopiesMemory) {
  struct Pair {
    uint8_t first = 0;
    uint32_t second = 0;
  };
  ArchiveWriter<Format<Numbers::kShort>> out;
  out.as_memory(Pair{1, 2});
  EXPECT_EQ(out.bytes().size(), sizeof(Pair));
  ArchiveReader<Format<Numbers::kShort>> in(out.bytes()), cut(std::string_view(out.bytes()).substr(1));
  Pair read, kept{3, 4};
  in.as_memory(read);
  EXPECT_EQ(read.second, 2u);
  EXPECT_TRUE(in.at_end());
  cut.as_memory(kept);
  EXPECT_TRUE(cut.failed());
  EXPECT_EQ(kept.second, 4u);
}

}  // namespace
}  // namespace spile
