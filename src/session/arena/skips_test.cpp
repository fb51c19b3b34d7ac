#include "session/arena/skips.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spile::session {
namespace {

TEST(Skips, LimitsProbesThatDidNotRunNotWhatWasLost) {
  Skips skips;
  for (uint64_t& count : skips.by_reason) count = 1;
  skips.by_reason[abi::kSkipReentrant] = 10;
  EXPECT_EQ(skips.skipped_probes(), 13u) << "reentrant, lock, no slot, shadow full";
  skips.by_reason[abi::kSkipOutputFull] = 1000;
  skips.by_reason[abi::kSkipMapFull] = 1000;
  EXPECT_EQ(skips.skipped_probes(), 13u);
}

TEST(Skips, PrintsALineForEachReasonThatHappened) {
  Skips skips;
  EXPECT_THAT(skips.warnings("size=N"), testing::IsEmpty());
  skips.by_reason[abi::kSkipOutputFull] = 5;
  skips.by_reason[abi::kSkipMapFull] = 3;
  skips.by_reason[abi::kSkipUnwound] = 2;
  EXPECT_THAT(skips.warnings("size=N"), testing::ElementsAre("5 records lost, output ring full (raise -s, or print less)",
                                                             "3 updates lost, array full (size=N)",
                                                             "2 return probes missed, an exception or thread exit skipped them"));
}

TEST(Skips, AddsUpTheSlotsThatWereUsed) {
  codegen::ArenaLayout layout;
  layout.slot_count = 4;
  layout.slot_stride = 4 * abi::kPageSize;
  layout.slots_offset = 4 * abi::kPageSize;
  layout.size = layout.slots_offset + layout.slot_count * layout.slot_stride;
  auto arena = ArenaView::create(layout, {});
  ASSERT_TRUE(arena.ok());
  (*arena)->slot(abi::kOverflowSlot).skipped[abi::kSkipNoSlot] = 3;
  (*arena)->slot(abi::kFirstSlot).owner = 1;
  (*arena)->slot(abi::kFirstSlot).skipped[abi::kSkipNoSlot] = 4;
  (*arena)->slot(abi::kFirstSlot + 1).skipped[abi::kSkipNoSlot] = 100;  // nobody has it
  EXPECT_EQ(count_skips(**arena).by_reason[abi::kSkipNoSlot], 7u);
}

}  // namespace
}  // namespace spile::session
