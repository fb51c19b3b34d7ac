#include "session/arena/ring_reader.h"

#include <gtest/gtest.h>
#include <x86intrin.h>

#include <cstring>

namespace spile::session {
namespace {

constexpr uint64_t kRingSize = 4096;

class Ring : public testing::Test {
 protected:
  void put(uint32_t size, uint16_t kind, uint64_t time) {
    abi::RecordHeader header{size, kind, 0, 0, 0, time};
    std::memcpy(ring_ + (slot_.ring_head & (kRingSize - 1)), &header, sizeof header);
    slot_.ring_head += size;
  }
  // Kinds and times of what is taken, "damaged" last where it was.
  std::vector<std::pair<uint16_t, uint64_t>> take() {
    std::vector<std::pair<uint16_t, uint64_t>> taken;
    std::vector<char> bytes;
    const RingReader::Taken how =
        reader_.take(slot_, ring_, 0, withheld_, most_, bytes, [&](const abi::RecordHeader& header, size_t at) {
          EXPECT_LE(at + header.size, bytes.size());
          abi::RecordHeader kept;
          std::memcpy(&kept, bytes.data() + at, sizeof kept);
          EXPECT_EQ(kept.time, header.time);
          taken.emplace_back(header.kind, header.time);
        });
    damaged_ = how.damaged;
    more_ = how.more;
    return taken;
  }

  alignas(8) char ring_[kRingSize] = {};
  abi::ThreadSlot slot_{};
  RingReader reader_{1, 0};
  size_t most_ = kRingSize;
  uint32_t withheld_ = 0;
  bool damaged_ = false, more_ = false;
};
using Taken = std::vector<std::pair<uint16_t, uint64_t>>;

TEST_F(Ring, GivesRecordsInOrder) {
  put(32, 1, 10);
  put(40, 3, 20);
  EXPECT_EQ(take(), (Taken{{1, 10}, {3, 20}}));
  EXPECT_EQ(slot_.ring_tail, 72u);
  EXPECT_EQ(take(), Taken{});
}

TEST_F(Ring, GoesOnAtTheBeginBehindPadding) {
  put(4064, 1, 1);
  take();
  put(32, abi::kPad, ~0ULL);  // its time has not been written
  put(32, 1, 2);
  EXPECT_EQ(take(), (Taken{{1, 2}}));
  EXPECT_FALSE(damaged_);
}

TEST_F(Ring, PassesOverARestTooSmallForARecord) {
  put(4080, 1, 1);
  take();
  slot_.ring_head += 16;
  put(32, 1, 2);
  EXPECT_EQ(take(), (Taken{{1, 2}}));
}

TEST_F(Ring, LeavesTheWriterNoRoomThatIsWithheld) {
  withheld_ = 1024;
  put(32, 1, 1);
  EXPECT_EQ(take(), (Taken{{1, 1}}));
  EXPECT_EQ(slot_.ring_tail, uint64_t{32} - 1024);
  withheld_ = 0;
  EXPECT_EQ(take(), Taken{});
  EXPECT_EQ(slot_.ring_tail, 32u);
}

TEST_F(Ring, TakesWholeRecordsPieceByPiece) {
  most_ = 80;
  for (uint64_t time : {1, 2, 3, 4}) put(32, 1, time);
  EXPECT_EQ(take(), (Taken{{1, 1}, {1, 2}}));
  EXPECT_TRUE(more_);
  EXPECT_EQ(slot_.ring_tail, 64u);
  put(160, 1, 5);  // more than a piece
  EXPECT_EQ(take(), (Taken{{1, 3}, {1, 4}}));
  EXPECT_EQ(take(), (Taken{{1, 5}}));
  EXPECT_FALSE(more_);
  EXPECT_EQ(slot_.ring_tail, slot_.ring_head);
}

TEST_F(Ring, TakesPiecesAroundTheEnd) {
  put(kRingSize - 64, 1, 1);
  take();
  most_ = 64;
  put(48, 1, 2);
  slot_.ring_head += 16;  // too little for a record
  put(32, 1, 3);
  put(32, 1, 4);
  EXPECT_EQ(take(), (Taken{{1, 2}}));
  EXPECT_TRUE(more_);
  EXPECT_EQ(take(), (Taken{{1, 3}, {1, 4}}));
  EXPECT_FALSE(more_ || damaged_);
}

TEST_F(Ring, FindsDamageInAPiece) {
  most_ = 64;
  put(32, 1, 1);
  put(33, 1, 2);
  slot_.ring_head += 31;
  put(32, 1, 3);
  EXPECT_EQ(take(), (Taken{{1, 1}}));
  EXPECT_TRUE(damaged_);
  EXPECT_FALSE(more_);
  put(4096, 1, 4);  // longer than what follows it
  slot_.ring_head -= 4000;
  EXPECT_EQ(take(), Taken{});
  EXPECT_TRUE(damaged_);
  EXPECT_EQ(slot_.ring_tail, slot_.ring_head);
}

TEST_F(Ring, BelievesNoHeadFartherThanTheRing) {
  slot_.ring_head = kRingSize + 8;
  EXPECT_EQ(take(), Taken{});
  EXPECT_TRUE(damaged_);
  EXPECT_EQ(slot_.ring_tail, kRingSize + 8);
  slot_.ring_head = 3;
  EXPECT_EQ(take(), Taken{});
  EXPECT_TRUE(damaged_);
}

TEST_F(Ring, BelievesNoTailButItsOwn) {
  put(32, 1, 1);
  slot_.ring_tail = 1 << 30;
  EXPECT_EQ(take(), (Taken{{1, 1}}));
}

TEST_F(Ring, BelievesNoSizeBeyondTheHeadOrTheEnd) {
  for (uint32_t size : {0u, 8u, 33u, 4096u, ~7u}) {
    SCOPED_TRACE(size);
    put(32, 1, 1);
    abi::RecordHeader header{size, 1, 0, 0, 0, 2};
    std::memcpy(ring_ + slot_.ring_head, &header, sizeof header);
    slot_.ring_head += 32;
    EXPECT_EQ(take().size(), 1u);
    EXPECT_TRUE(damaged_);
  }
}

TEST_F(Ring, BelievesNoTimeToComeNorOneThatGoesBack) {
  put(32, 1, 50);
  put(32, 1, 40);
  put(32, 1, ~0ULL);
  Taken taken = take();
  ASSERT_EQ(taken.size(), 3u);
  EXPECT_EQ(taken[1].second, 50u);
  EXPECT_LE(taken[2].second, __rdtsc());
}

}  // namespace
}  // namespace spile::session
