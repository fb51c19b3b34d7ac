#include "bpf/object_lines.h"

#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <linux/btf.h>

#include <cstring>
#include <random>

namespace spile::bpf {
namespace {

void append(std::vector<uint8_t>& bytes, std::initializer_list<uint32_t> words) {
  for (uint32_t word : words) {
    const auto* begin = reinterpret_cast<const uint8_t*>(&word);
    bytes.insert(bytes.end(), begin, begin + sizeof word);
  }
}

constexpr char kStrings[] = "\0probe.0\0a.stp\0n++";  // at 0, 1, 9, 15
constexpr uint32_t kProgramName = 1, kFile = 9, kText = 15;
constexpr uint32_t kMagicAndVersion = BTF_MAGIC | BTF_VERSION << 16;

// A program of four instructions, with these lines: offset, file, text, place.
Object object_with(const std::vector<std::array<uint32_t, 4>>& lines, uint32_t section = kProgramName) {
  Object object;
  object.sections.resize(4);
  object.sections[1].name = "probe.0";
  object.sections[1].code = true;
  object.sections[1].bytes.resize(4 * sizeof(bpf_insn));
  std::vector<uint8_t>& btf = object.sections[2].bytes;
  object.sections[2].name = kTypesSection;
  append(btf, {kMagicAndVersion, sizeof(btf_header), 0, 0, 0, sizeof kStrings});
  btf.insert(btf.end(), std::begin(kStrings), std::end(kStrings));
  std::vector<uint8_t>& extension = object.sections[3].bytes;
  object.sections[3].name = kLinesSection;
  const auto count = static_cast<uint32_t>(lines.size());
  append(extension, {kMagicAndVersion, 24, 0, 0, 0, 4 + 8 + count * 16, 16, section, count});
  for (const auto& line : lines) append(extension, {line[0], line[1], line[2], line[3]});
  return object;
}

TEST(ObjectLines, BelongToInstructionsInOrder) {
  Object object = object_with({{16, kFile, kText, 7 << 10 | 3}, {0, kFile, 0, 5 << 10 | 1}, {16, kFile, kText, 8 << 10 | 4}});
  ASSERT_TRUE(read_lines(object));
  const std::vector<ScriptLine>& lines = object.sections[1].lines;
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].instruction, 0u);
  EXPECT_EQ(lines[0].file, "a.stp");
  EXPECT_EQ(lines[0].text, "");
  EXPECT_EQ(lines[0].line, 5u);
  EXPECT_EQ(lines[1].instruction, 2u);
  EXPECT_EQ(lines[1].text, "n++");
  EXPECT_EQ(lines[1].line, 8u);
  EXPECT_EQ(lines[1].column, 4u);
}

TEST(ObjectLines, OfNoInstructionAreLeftOut) {
  Object object =
      object_with({{3, kFile, kText, 1 << 10}, {32, kFile, kText, 1 << 10}, {8, 1000, kText, 1 << 10}, {8, kFile, ~0u, 1 << 10}});
  ASSERT_TRUE(read_lines(object));
  EXPECT_TRUE(object.sections[1].lines.empty());
  Object other = object_with({{0, kFile, kText, 1 << 10}}, kFile);
  ASSERT_TRUE(read_lines(other));
  EXPECT_TRUE(other.sections[1].lines.empty());
}

TEST(ObjectLines, ObjectWithoutThemHasNone) {
  Object object = object_with({});
  object.sections[3].name = "other";
  EXPECT_TRUE(read_lines(object));
}

// Errors or not, what is read stays inside of the sections: the sanitizers' builds see the rest.
TEST(ObjectLines, DamageIsFoundOrHarmless) {
  const Object whole = object_with({{0, kFile, kText, 5 << 10}, {8, kFile, 0, 6 << 10}});
  for (size_t section : {2, 3}) {
    for (size_t size = 0; size < whole.sections[section].bytes.size(); ++size) {
      Object cut = whole;
      cut.sections[section].bytes.resize(size);
      cut.sections[section].bytes.shrink_to_fit();
      EXPECT_FALSE(read_lines(cut)) << section << ' ' << size;
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    Object damaged = whole;
    std::vector<uint8_t>& bytes = damaged.sections[2 + random() % 2].bytes;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    (void)read_lines(damaged);
    for (const ScriptLine& line : damaged.sections[1].lines) {
      EXPECT_LT(line.instruction, 4u);
      EXPECT_LE(line.text.size(), sizeof kStrings);
    }
  }
}

TEST(ObjectLines, SizesThatWrapAreDamage) {
  Object object = object_with({{0, kFile, kText, 5 << 10}});
  auto word = [&](size_t at, uint32_t value) { std::memcpy(object.sections[3].bytes.data() + 4 * at, &value, sizeof value); };
  word(8, ~0u);  // lines
  EXPECT_FALSE(read_lines(object));
  word(6, ~0u);  // bytes of a line
  EXPECT_FALSE(read_lines(object));
  word(6, 0);
  EXPECT_FALSE(read_lines(object));
  word(4, ~0u);  // offset of the lines
  EXPECT_FALSE(read_lines(object));
}

}  // namespace
}  // namespace spile::bpf
