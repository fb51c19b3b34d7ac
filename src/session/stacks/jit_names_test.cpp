#include "session/stacks/jit_names.h"

#include <gmock/gmock.h>

#include <cstring>

namespace spile::session {
namespace {

TEST(JitCode, WhatIsMadeLaterHidesWhatWasThere) {
  JitCode code;
  code.add(100, 50, "old");
  code.add(120, 10, "new");
  EXPECT_EQ(code.name_at(99), "");
  EXPECT_EQ(code.name_at(119), "old");
  EXPECT_EQ(code.name_at(120), "new");
  EXPECT_EQ(code.name_at(130), "old");
  EXPECT_EQ(code.name_at(150), "");
  code.add(110, 30, "newest");
  EXPECT_EQ(code.name_at(120), "newest");
  EXPECT_EQ(code.name_at(145), "old");
  code.add(0, 1000, "all");
  EXPECT_EQ(code.name_at(145), "all");
  code.move(0, 5000, 1000);
  EXPECT_EQ(code.name_at(145), "");
  EXPECT_EQ(code.name_at(5999), "all");
}

TEST(PerfMap, TakesWholeLinesAndCountsOthers) {
  JitCode code;
  uint64_t malformed = 0;
  const std::string text =
      "7f0010 20 f a.js:1\n0x7f0030 0x10 g\nx\n7f 0 none\n7f\n ffffffffffffffff 10 over\nffffffffffffffff 10 over\n7f0040 "
      "8000000000000000 huge\n\n7f0050 10 half";
  EXPECT_EQ(read_perf_map(text, code, malformed), text.rfind('\n') + 1);
  EXPECT_EQ(malformed, 7u);
  EXPECT_EQ(code.name_at(0x7f002f), "f a.js:1");
  EXPECT_EQ(code.name_at(0x7f0030), "g");
  EXPECT_EQ(code.name_at(0x7f0050), "");
  read_perf_map("1000 10 " + std::string(100000, 'n') + "\n", code, malformed);
  EXPECT_EQ(code.name_at(0x1000).size(), JitCode::kLongestName);
}

void put(std::string& bytes, uint64_t value, size_t size) { bytes.append(reinterpret_cast<const char*>(&value), size); }
std::string load(uint64_t address, uint64_t size, const std::string& name) {
  std::string record;
  const std::string rest = name + std::string(1, '\0') + std::string(4, '\x90');
  put(record, 0, 4), put(record, 56 + rest.size(), 4), put(record, 1, 8);
  put(record, 7, 4), put(record, 7, 4), put(record, address, 8), put(record, address, 8), put(record, size, 8), put(record, 1, 8);
  return record + rest;
}

TEST(Jitdump, ReadsLoadsAndMoves) {
  std::string file;
  put(file, 0x4a695444, 4), put(file, 1, 4), put(file, 40, 4), put(file, 62, 4), put(file, 0, 4), put(file, 7, 4),
      put(file, 0, 8), put(file, 0, 8);
  const size_t header = file.size();
  file += load(0x1000, 0x20, "Foo::bar");
  std::string move;
  put(move, 1, 4), put(move, 64, 4), put(move, 2, 8), put(move, 7, 4), put(move, 7, 4), put(move, 0, 8), put(move, 0x1000, 8),
      put(move, 0x2000, 8), put(move, 0x20, 8), put(move, 1, 8);
  JitCode code;
  uint64_t malformed = 0;
  EXPECT_EQ(read_jitdump(std::string_view(file).substr(0, 10), true, code, malformed), 0u);
  EXPECT_EQ(read_jitdump(std::string_view(file).substr(0, header + 20), true, code, malformed), header);
  EXPECT_EQ(read_jitdump(std::string_view(file).substr(header), false, code, malformed), file.size() - header);
  EXPECT_EQ(code.name_at(0x101f), "Foo::bar");
  EXPECT_EQ(read_jitdump(move, false, code, malformed), move.size());
  EXPECT_EQ(code.name_at(0x101f), "");
  EXPECT_EQ(code.name_at(0x2000), "Foo::bar");
  EXPECT_EQ(malformed, 0u);
}

TEST(Jitdump, ForgedBytesAreHarmless) {
  JitCode code;
  uint64_t malformed = 0;
  EXPECT_EQ(read_jitdump(std::string(100, '\xff'), true, code, malformed), ~size_t{0});
  EXPECT_EQ(read_jitdump(std::string(16, '\0'), false, code, malformed), ~size_t{0});
  EXPECT_EQ(read_jitdump(load(~uint64_t{0}, 2, "x") + load(1, 0, "x") + load(1, 1, ""), false, code, malformed),
            3 * 56 + 6 + 6 + 5u);
  EXPECT_EQ(malformed, 3u);
  std::string unended = load(1, 1, "");
  unended.resize(56);
  std::memset(unended.data() + 4, 0, 4);
  unended[4] = 56;
  EXPECT_EQ(read_jitdump(unended, false, code, malformed), 56u);
  EXPECT_EQ(malformed, 4u);
}

}  // namespace
}  // namespace spile::session
