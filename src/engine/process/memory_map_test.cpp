#include "engine/process/memory_map.h"

#include <gtest/gtest.h>

namespace spile::engine {
namespace {

constexpr uint64_t kMegabyte = 1 << 20, kReach = uint64_t{2047} << 20;

TEST(MemoryMap, ParsesLines) {
  MemoryMap map(
      parse_mappings("7f179cecf000-7f179d025000 r-xp 00026000 fe:00 332835                     /usr/lib/with space/libc.so.6\n"
                     "7f179d139000-7f179d13b000 rw-s 00000000 00:00 0 \n"));
  ASSERT_EQ(map.all().size(), 2u);
  EXPECT_EQ(map.all()[0].path, "/usr/lib/with space/libc.so.6");
  EXPECT_EQ(map.all()[0].offset, 0x26000u);
  EXPECT_EQ(map.all()[0].inode, 332835u);
  EXPECT_TRUE(map.all()[0].executable && !map.all()[0].writable && !map.all()[0].shared);
  EXPECT_TRUE(map.all()[1].shared && map.all()[1].path.empty());
  EXPECT_EQ(map.find(0x7f179d024fff), &map.all()[0]);
  EXPECT_EQ(map.find(0x7f179d025000), nullptr);
}

TEST(MemoryMap, PrefersRoomBelowAndLeavesGaps) {
  MemoryMap map(
      parse_mappings("555555554000-555555600000 r-xp 00000000 fe:00 1 /bin/program\n"
                     "555555700000-555555800000 rw-p 00000000 00:00 0 [heap]\n"
                     "7ffff7000000-7ffff8000000 r-xp 00000000 fe:00 2 /lib/libc.so\n"
                     "7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0 [stack]\n"));
  auto room = map.find_room(0x555555554000, 0x555555600000, kMegabyte, kReach);
  ASSERT_TRUE(room);
  EXPECT_LT(*room + kMegabyte, 0x555555554000u);
  EXPECT_GT(*room + kReach, 0x555555600000u);
  room = map.find_room(0x7ffff7000000, 0x7ffff8000000, kMegabyte, kReach);
  ASSERT_TRUE(room);
  EXPECT_LT(*room, 0x7ffff7000000u);
}

TEST(MemoryMap, KeepsAwayFromTheHeapOfAProgramAtALowAddress) {
  MemoryMap map(
      parse_mappings("00400000-00500000 r-xp 00000000 fe:00 1 /bin/program\n"
                     "00600000-00700000 rw-p 00000000 00:00 0 [heap]\n"
                     "7ffff7000000-7ffff8000000 r-xp 00000000 fe:00 2 /lib/libc.so\n"));
  // Too large for the room below: above the heap, far enough for it to grow, and within reach.
  auto room = map.find_room(0x400000, 0x500000, 64 * kMegabyte, kReach);
  ASSERT_TRUE(room);
  EXPECT_GE(*room, 0x700000 + 256 * kMegabyte);
  EXPECT_LE(*room + 64 * kMegabyte, 0x400000 + kReach);
  room = map.find_room(0x400000, 0x500000, kMegabyte, kReach);
  ASSERT_TRUE(room);
  EXPECT_LT(*room, 0x400000u);
}

TEST(MemoryMap, LeavesTheHeapAllThatItMayEverHave) {
  // As `setarch -R` has it: the heap begins where the data ends.
  const char* text =
      "00400000-00500000 r-xp 00000000 fe:00 1 /bin/program\n"
      "00600000-00700000 rw-p 00000000 00:00 0 [heap]\n"
      "7ffff7000000-7ffff8000000 r-xp 00000000 fe:00 2 /lib/libc.so\n";
  auto room = MemoryMap(parse_mappings(text)).find_room(0x400000, 0x500000, 64 * kMegabyte, kReach);
  ASSERT_TRUE(room);
  EXPECT_GT(*room + 65 * kMegabyte, 0x400000 + kReach) << "as far above the heap as it reaches";
}

TEST(MemoryMap, KnowsWhereTheHeapWillBe) {
  const char* text =
      "00400000-00500000 r-xp 00000000 fe:00 1 /bin/program\n"
      "7ffff7000000-7ffff8000000 r-xp 00000000 fe:00 2 /lib/libc.so\n";
  constexpr uint64_t kHeap = 600 * kMegabyte;
  MemoryMap map(parse_mappings(text), kHeap);
  auto room = map.find_room(0x400000, 0x500000, 64 * kMegabyte, kReach);
  ASSERT_TRUE(room);
  EXPECT_LT(*room + 64 * kMegabyte, kHeap);
  EXPECT_TRUE(map.is_free_page(kHeap / 2, 1024 * kMegabyte));
  EXPECT_FALSE(map.is_free_page(kHeap + kMegabyte, 1024 * kMegabyte));
  EXPECT_FALSE(map.is_free_page(kHeap + 1023 * kMegabyte, 1024 * kMegabyte));
  EXPECT_TRUE(map.is_free_page(kHeap + 1025 * kMegabyte, 1024 * kMegabyte));
}

TEST(MemoryMap, LeavesTheStackWhatItsLimitGivesIt) {
  constexpr uint64_t kStack = 0x7ff000000000;
  const char* text = "7ff000000000-7ff000021000 rw-p 00000000 00:00 0 [stack]\n";
  auto free_below = [&](uint64_t limit, uint64_t distance) {
    return MemoryMap(parse_mappings(text), 0, limit).is_free_page(kStack - distance, kMegabyte);
  };
  EXPECT_FALSE(free_below(8 * kMegabyte, 255 * kMegabyte));
  EXPECT_TRUE(free_below(8 * kMegabyte, 257 * kMegabyte));
  EXPECT_FALSE(free_below(2048 * kMegabyte, 2047 * kMegabyte));
  EXPECT_TRUE(free_below(2048 * kMegabyte, 2050 * kMegabyte));
  EXPECT_TRUE(free_below(~uint64_t{0} >> 1, 17 * 1024 * kMegabyte)) << "unlimited";
}

TEST(MemoryMap, FindsNothingWhereNothingReaches) {
  MemoryMap map(parse_mappings("100000000-300000000 rw-p 00000000 00:00 0 \n"));
  EXPECT_FALSE(map.find_room(0x1f0000000, 0x200000000, kMegabyte, kReach));
}

}  // namespace
}  // namespace spile::engine
