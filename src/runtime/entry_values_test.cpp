// Registers of functions' entries: found again by the frame that has them, and never those of another call.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "abi/point_tables.h"
#include "runtime/test_arena.h"

namespace spile::rt {
namespace {

constexpr uint64_t kSite = 7, kOtherSite = 8;

class EntryValues : public testing::Test {
 protected:
  void SetUp() override {
    arena_.table()->life = 4711;
    ASSERT_TRUE(spile_rt_enter(&context_));
  }
  // A frame whose return address lies at stack_[index].
  uint64_t cfa(size_t index) { return reinterpret_cast<uint64_t>(&stack_[index]) + 8; }
  void keep(size_t index, uint64_t first, uint64_t second = 0, uint64_t site = kSite) {
    uint64_t values[] = {first, second};
    spile_rt_entry_keep(cfa(index), site, values);
  }
  // -1: not known.
  int64_t value(size_t index, uint32_t number = 0, uint64_t site = kSite) {
    uint64_t value;
    return spile_rt_entry_value(&context_, cfa(index), site, number, &value) ? static_cast<int64_t>(value) : -1;
  }
  TestArena arena_;
  Context context_{};
  std::vector<uint64_t> stack_ = std::vector<uint64_t>(1 << 20, 0x401000);
};

TEST_F(EntryValues, AreThoseOfTheNewestCallInTheFrame) {
  EXPECT_EQ(value(100), -1);
  keep(100, 11, 12);
  keep(90, 21, 22);
  EXPECT_EQ(value(100), 11);
  EXPECT_EQ(value(100, 1), 12);
  EXPECT_EQ(value(90, 1), 22);
  keep(100, 31, 32);
  EXPECT_EQ(value(100), 31);
  EXPECT_EQ(value(100, 1), 32);
}

TEST_F(EntryValues, AreOfTheFunctionThatAsks) {
  keep(100, 11);
  EXPECT_EQ(value(100, 0, kOtherSite), -1);
  // A tail call: the same frame, another function.
  keep(100, 12, 0, kOtherSite);
  EXPECT_EQ(value(100), -1);
  EXPECT_EQ(value(100, 0, kOtherSite), 12);
}

TEST_F(EntryValues, AreNotThoseOfAnotherCaller) {
  keep(100, 11);
  stack_[100] = 0x402000;
  EXPECT_EQ(value(100), -1);
  stack_[100] = 0x401000;
  EXPECT_EQ(value(100), 11);
}

TEST_F(EntryValues, AreKnownWhenTheCallHasJustReturned) {
  keep(100, 11);
  stack_[100] = 0x402000;  // the stack is the caller's again
  EXPECT_EQ(value(100, 0, kSite | abi::kEntryHasReturned), 11);
  EXPECT_EQ(value(100, 0, kOtherSite | abi::kEntryHasReturned), -1);
}

TEST_F(EntryValues, AreFoundBehindReturnsThatArePending) {
  test_cells.returned_begin = 0x1000;
  test_cells.returned_end = 0x2000;
  keep(100, 11);
  ASSERT_TRUE(spile_rt_return_push(&context_, cfa(100), 1));
  stack_[100] = 0x1008;
  EXPECT_EQ(value(100), 11);
  // Jumped to from there, with a return of its own pending.
  keep(100, 12, 0, kOtherSite);
  ASSERT_TRUE(spile_rt_return_push(&context_, cfa(100), 2));
  stack_[100] = 0x1010;
  EXPECT_EQ(value(100, 0, kOtherSite), 12);
}

TEST_F(EntryValues, AreOfOneProcessAndOneTime) {
  keep(100, 11);
  arena_.table()->life = 4712;
  EXPECT_EQ(value(100), -1);
  arena_.table()->life = 0;  // not known yet
  keep(100, 12);
  EXPECT_EQ(value(100), -1);
  arena_.table()->life = 4711;
  EXPECT_EQ(value(100), 11);
}

TEST_F(EntryValues, OfDeepRecursionAreAllThere) {
  constexpr size_t kDepth = 100'000, kFrame = 6;  // words
  for (size_t depth = 0; depth < kDepth; ++depth) keep(stack_.size() - 1 - kFrame * depth, depth, ~depth);
  for (size_t depth = kDepth; depth-- > 0;) {
    ASSERT_EQ(value(stack_.size() - 1 - kFrame * depth), static_cast<int64_t>(depth));
  }
}

TEST_F(EntryValues, ThatFindNoRoomAreGoneRatherThanWrong) {
  for (size_t index = 0; index < stack_.size(); ++index) keep(index, index);  // several times the room there is
  size_t known = 0;
  for (size_t index = 0; index < stack_.size(); ++index) {
    int64_t found = value(index);
    ASSERT_TRUE(found == -1 || found == static_cast<int64_t>(index)) << index;
    known += found != -1;
  }
  EXPECT_GT(known, abi::kEntrySets * abi::kEntryWays / 2);
}

// Threads that push each other's records out, all of one set.
TEST_F(EntryValues, AreWholeOrNotKnown) {
  std::vector<size_t> mates;
  for (size_t index = 0; index < stack_.size(); ++index) {
    if (abi::entry_set_index(cfa(index), 4711) == 100) mates.push_back(index);
  }
  constexpr size_t kThreads = 4, kTurns = 50'000;
  ASSERT_GE(mates.size(), 2 * abi::kEntryWays);
  std::atomic<size_t> wrong{0}, known{0};
  auto work = [&](size_t thread) {
    Context context = context_;
    for (size_t turn = 0; turn < kTurns; ++turn) {
      size_t index = mates[(turn * kThreads + thread) % (mates.size() / kThreads * kThreads)];
      uint64_t expected = thread << 32 | turn;
      uint64_t values[] = {expected, ~expected}, first, second;
      spile_rt_entry_keep(cfa(index), kSite, values);
      if (!spile_rt_entry_value(&context, cfa(index), kSite, 0, &first)) continue;
      wrong += first != expected;
      wrong += spile_rt_entry_value(&context, cfa(index), kSite, 1, &second) && second != ~expected;
      ++known;
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(known, kTurns / 10);
}

}  // namespace
}  // namespace spile::rt
