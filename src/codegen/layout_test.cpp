#include "codegen/layout.h"

#include <gtest/gtest.h>

#include "abi/map_layout.h"
#include "sema/fake_target_test.h"

namespace spile::codegen {

namespace {

Layout layout_of(const sema::Program& program) {
  auto layout = make_layout(program, {});
  EXPECT_TRUE(layout.ok());
  return std::move(layout).value();
}

TEST(Layout, KeepsGlobalsApart) {
  auto script = sema::elaborate_text(R"(global a, b[10], s = "x", t
    probe begin { a++ b["k"] = a s .= "y" t <<< 3 println(@count(t)) println(s) println(b["k"]) })");
  ASSERT_TRUE(script.ok()) << script.messages();
  Layout layout = layout_of(script.program);
  std::vector<std::pair<uint64_t, uint64_t>> pieces;
  for (const GlobalLayout& global : layout.globals) pieces.emplace_back(global.storage, global.size);
  std::sort(pieces.begin(), pieces.end());
  ASSERT_EQ(pieces.size(), 4u);
  for (size_t i = 0; i + 1 < pieces.size(); ++i) EXPECT_LE(pieces[i].first + pieces[i].second, pieces[i + 1].first);
  EXPECT_GE(pieces[0].first, layout.arena.globals_offset);
  EXPECT_LE(pieces[3].first + pieces[3].second, layout.arena.slots_offset);
  EXPECT_EQ(layout.arena.slot_count, 2u) << "nothing runs in a traced process";
}

TEST(Layout, GivesMapsTheBytesTheyNeed) {
  auto script = sema::elaborate_text(R"(global b[10] probe begin { b["k", 1] = 2 println(b["k", 1]) })");
  ASSERT_TRUE(script.ok()) << script.messages();
  Layout layout = layout_of(script.program);
  const GlobalLayout& map = layout.globals.at(0);
  EXPECT_EQ(map.map.key_size, 520u);
  EXPECT_EQ(map.map.string_keys, 1u);
  EXPECT_EQ(map.map.capacity, 10u);
  EXPECT_EQ(map.size, abi::map_bytes(520, 8, 10, map.map.buckets));
}

TEST(Layout, ShardsScalarsOnceAndMapsPerEpoch) {
  auto script = sema::elaborate_text(R"(global c, d, m, s
    probe process("/bin/fake").function("foo") { c++ d += 2 m[$x]++ s <<< $x }
    probe end { println(c + d) println(m[1]) println(@sum(s)) })");
  ASSERT_TRUE(script.ok()) << script.messages();
  Layout layout = layout_of(script.program);
  const ArenaLayout& arena = layout.arena;
  std::vector<uint64_t> shards;
  for (const GlobalLayout& global : layout.globals) shards.push_back(global.shard);
  std::sort(shards.begin(), shards.end());
  EXPECT_EQ(shards[0], 0u);
  EXPECT_EQ(shards[1], 8u);
  EXPECT_EQ(shards[2], 64u);
  EXPECT_EQ(arena.shards_offset + 64 + 2 * layout.epoch_stride, arena.shadow_offset);
  EXPECT_EQ(arena.shadow_capacity, 0u) << "no return probes";
  EXPECT_EQ(arena.slot_count, abi::kMostSlots);
  EXPECT_EQ(arena.ring_offset % abi::kPageSize, 0u);
  EXPECT_EQ(arena.ring_offset + arena.ring_size, arena.slot_stride);
}

TEST(Layout, PlacesEntryValuesInFrames) {
  auto script = sema::elaborate_text(R"(probe process("/bin/fake").function("foo").return { printf("%d %s %d\n", @entry($x), $s, @entry($x + 1)) })");
  ASSERT_TRUE(script.ok()) << script.messages();
  Layout layout = layout_of(script.program);
  ASSERT_EQ(layout.saves[0].size(), 3u);
  EXPECT_EQ(layout.arena.shadow_stride, sizeof(abi::ShadowFrame) + 8 + 8 + layout.string_size);
  EXPECT_EQ(layout.arena.shadow_capacity, 16384u);
}

TEST(Layout, RefusesWhatNoProcessCanMap) {
  auto script = sema::elaborate_text(R"(global m[1000000], n[1000000], o[1000000], p[1000000]
    probe process("/bin/fake").function("foo") { m["a", $x]++ n["a", $x]++ o["a", $x]++ p["a", $x]++ }
    probe end { println(m["a", 1] + n["a", 1] + o["a", 1] + p["a", 1]) })");
  ASSERT_TRUE(script.ok()) << script.messages();
  EXPECT_FALSE(make_layout(script.program, {}).ok());
}

}  // namespace

}  // namespace spile::codegen
