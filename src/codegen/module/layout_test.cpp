#include "codegen/module/layout.h"

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
  auto script = sema::elaborate_text(
      R"(probe process("/bin/fake").function("foo").return { printf("%d %s %d\n", @entry($x), $s, @entry($x + 1)) })");
  ASSERT_TRUE(script.ok()) << script.messages();
  Layout layout = layout_of(script.program);
  ASSERT_EQ(layout.saves[0].size(), 3u);
  EXPECT_EQ(layout.arena.shadow_stride, sizeof(abi::ShadowFrame) + 8 + 8 + layout.string_size);
  EXPECT_EQ(layout.arena.shadow_capacity, 16384u);
}

TEST(Layout, GivesEachSideAnArenaOfItsOwn) {
  auto script = sema::elaborate_text(R"(global both, ours, theirs, fixed, sum, m
    probe process("/bin/fake").function("foo") { both = both * 2 + fixed; theirs = $x * 2; sum++; m[$x]++ }
    probe kernel.trace("a:b") { both = both + 1; ours = $pid; println(ours + fixed); sum++; m[$pid]++ }
    probe begin { fixed = 1 }
    probe end { println(both + ours + theirs + sum + m[1]) })");
  ASSERT_TRUE(script.ok()) << script.messages();
  ASSERT_TRUE(is_mixed(script.program));
  LayoutOptions options;
  options.kernel_cpus = 2;
  auto made = make_mixed_layout(script.program, options);
  ASSERT_TRUE(made.ok());
  const ArenaLayout &arena = made->processes.arena, &kernel = made->kernel.arena;
  EXPECT_EQ(arena.kernel_slots, 0u);
  EXPECT_EQ(kernel.slot_count, abi::kFirstSlot + 2 * abi::kKernelLevels);
  EXPECT_GE(arena.kernel_offset, arena.size);
  EXPECT_EQ(arena.kernel_offset % (uint64_t{1} << 32), abi::kKernelArenaBase);
  EXPECT_EQ(arena.shared_offset % abi::kPageSize, 0u);
  EXPECT_EQ(arena.shared_size, abi::kPageSize);
  auto index = [&](const std::string& name) {
    for (const syntax::Global* global : script.program.globals) {
      if (global->name == name) return static_cast<size_t>(global->index);
    }
    return size_t{0};
  };
  auto place = [&](const Layout& layout, const char* name) { return layout.globals[index(name)]; };
  GlobalLayout both = place(made->processes, "both");
  EXPECT_TRUE(both.storage > arena.shared_offset && both.storage < arena.shared_offset + arena.shared_size);
  EXPECT_EQ(place(made->kernel, "both").storage + abi::kKernelArenaBase,
            abi::kKernelSharedBase + both.storage - arena.shared_offset);
  EXPECT_EQ(place(made->kernel, "both").lock + abi::kKernelArenaBase, abi::kKernelSharedBase + both.lock - arena.shared_offset);
  EXPECT_EQ(place(made->processes, "ours").storage, arena.kernel_offset + place(made->kernel, "ours").storage);
  EXPECT_LT(place(made->processes, "theirs").storage, arena.shared_offset) << "no process sees more of the kernel's than it must";
  ASSERT_EQ(made->copies.size(), 1u);
  EXPECT_EQ(made->copies[0].from, place(made->processes, "fixed").storage);
  EXPECT_EQ(made->copies[0].to, arena.kernel_offset + place(made->kernel, "fixed").storage);
  EXPECT_EQ(place(made->processes, "m").shard, place(made->kernel, "m").shard) << "merged by one function";
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
