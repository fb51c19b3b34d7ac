// How pending returns survive what programs do with their stacks.

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

#include "runtime/test_arena.h"

namespace spile::rt {
namespace {

constexpr uint64_t kReturned = 0x1000, kReturnedEnd = 0x2000;  // addresses that the engine's trampolines would push

// Where the stack of a handler ends that the caller calls next.
[[gnu::noinline]] uint64_t program_stack() { return reinterpret_cast<uint64_t>(__builtin_frame_address(0)) + 16; }

// A stack of return address slots; `call` and `leave` do what the trampolines do.
class Returns : public testing::Test {
 protected:
  void SetUp() override {
    test_cells.returned_begin = kReturned;
    test_cells.returned_end = kReturnedEnd;
    ASSERT_TRUE(spile_rt_enter(&context_));
  }
  uint64_t cfa(int depth, int stack = 0) { return reinterpret_cast<uint64_t>(&stacks_[stack][1000 - depth]) + 8; }
  uint64_t& word(int depth, int stack = 0) { return stacks_[stack][1000 - depth]; }
  bool call(int depth, int stack = 0) {
    word(depth, stack) = real(depth, stack);
    uint64_t* saves = spile_rt_return_enter(&context_, cfa(depth, stack), 7);
    if (!saves) return false;
    saves[0] = static_cast<uint64_t>(depth + 10000 * stack);
    spile_rt_return_entered(&context_, cfa(depth, stack), saves);
    word(depth, stack) = kReturned + 8;
    return true;
  }
  static uint64_t real(int depth, int stack) {
    return 0x400000 + static_cast<uint64_t>(depth) * 16 + static_cast<uint64_t>(stack) * 65536;
  }
  void leave(int depth, int stack = 0) {
    context_.site_id = 0;
    uint64_t* saves = spile_rt_return_find(&context_, cfa(depth, stack));
    EXPECT_EQ(context_.site_id, 7u);
    EXPECT_EQ(saves[0], static_cast<uint64_t>(depth + 10000 * stack));
    spile_rt_return_exit(&context_, cfa(depth, stack), saves);
    EXPECT_EQ(word(depth, stack), real(depth, stack));
  }
  TestArena arena_;
  Context context_{};
  uint64_t stacks_[3][1001] = {};
};

// One multiplication has distances at which all stacks share a few places; then each return looks through its neighbors.
TEST(SpilledReturns, HavePlacesOfTheirOwnOnStacksEquallyFarApart) {
  constexpr uint64_t kPage = 4096, kStacks = 10'000, kFrames = abi::spilled_frames(32);
  std::vector<uint64_t> distances = {4 * kPage + 16, 16 * kPage + 16, 2 * kPage + 64, 8 * kPage + 32};  // of malloc
  for (uint64_t pages : {1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 16, 17, 32, 33, 64, 65, 128, 129, 256, 257, 512, 513, 2048, 2049}) {
    distances.push_back(pages * kPage);
  }
  for (uint64_t distance : distances) {
    std::vector<bool> taken(kFrames);
    uint64_t shared = 0;
    for (uint64_t stack = 1; stack <= kStacks; ++stack) {
      uint64_t place = abi::spilled_index(0x7f1234560000 + stack * distance - 72, kFrames);
      ASSERT_NE(place, abi::kNoSpilledPlace);
      shared += taken[place];
      taken[place] = true;
    }
    EXPECT_LT(shared, kStacks / 50) << distance;
  }
}

TEST_F(Returns, NestAsCallsDo) {
  for (int depth = 0; depth < 50; ++depth) ASSERT_TRUE(call(depth));
  EXPECT_EQ(context_.slot->shadow_depth, 50u);
  for (int depth = 50; depth-- > 0;) leave(depth);
  EXPECT_EQ(context_.slot->shadow_depth, 0u);
}

TEST_F(Returns, CoroutinesLeaveInAnyOrder) {
  std::mt19937 random(1);
  int depths[3] = {0, 0, 0};
  for (int i = 0; i < 20000; ++i) {
    int stack = static_cast<int>(random() % 3);
    if (depths[stack] < 20 && random() % 2) {
      ASSERT_TRUE(call(depths[stack]++, stack));
    } else if (depths[stack] > 0) {
      leave(--depths[stack], stack);
    }
  }
  for (int stack = 0; stack < 3; ++stack)
    while (depths[stack] > 0) leave(--depths[stack], stack);
  EXPECT_EQ(context_.slot->shadow_depth, 0u);
}

TEST_F(Returns, LongjmpLeavesFramesThatAreSweptWhenFull) {
  ASSERT_TRUE(call(0));
  for (int round = 0; round < 100; ++round) {
    for (int depth = 1; depth < 20; ++depth) ASSERT_TRUE(call(depth)) << round;
    for (int depth = 1; depth < 20; ++depth) word(depth) = 0;  // jumped over, then overwritten
  }
  EXPECT_EQ(context_.slot->skipped[abi::kSkipUnwound], 0u);  // none of them ever returns
  leave(0);
}

TEST_F(Returns, NewEntryReplacesAStaleOneOfTheSameStackSlot) {
  ASSERT_TRUE(call(0));
  for (int round = 0; round < 1000; ++round) ASSERT_TRUE(call(1));  // each left by longjmp, the word still ours
  leave(1);
  leave(0);
}

// f tail-jumps to g: g's return address is f's `returned`.
TEST_F(Returns, TailCallsShareAStackSlot) {
  ASSERT_TRUE(call(0));
  uint64_t* saves = spile_rt_return_enter(&context_, cfa(0), 8);
  ASSERT_NE(saves, nullptr);
  spile_rt_return_entered(&context_, cfa(0), saves);
  word(0) = kReturned + 16;
  for (int depth = 1; depth < static_cast<int>(kTestShadowCapacity) - 1; ++depth) ASSERT_TRUE(call(depth));
  word(62) = 0;  // left by longjmp; the stack is full now, so the next call sweeps it and nothing else
  ASSERT_TRUE(call(62));
  EXPECT_EQ(spile_rt_return_find(&context_, cfa(0)), saves);
  EXPECT_EQ(context_.site_id, 8u);
  spile_rt_return_exit(&context_, cfa(0), saves);
  EXPECT_EQ(word(0), kReturned + 8);
  leave(0);
}

// What does not fit into the thread's stack is spilled; what does not fit there either is counted.
TEST_F(Returns, DeepRecursionIsCounted) {
  constexpr int kMost = 100'000;
  std::vector<uint64_t> stack(kMost + 1);
  auto cfa_of = [&](int depth) { return reinterpret_cast<uint64_t>(&stack[static_cast<size_t>(kMost - depth)]) + 8; };
  auto word_of = [&](int depth) -> uint64_t& { return stack[static_cast<size_t>(kMost - depth)]; };
  int depth = 0;
  for (; depth < kMost; ++depth) {
    word_of(depth) = 0x400000;
    if (!spile_rt_return_push(&context_, cfa_of(depth), 7)) break;
    word_of(depth) = kReturned + 8;
  }
  EXPECT_GT(depth, 40'000);
  EXPECT_EQ(context_.slot->skipped[abi::kSkipShadowFull], 1u);
  while (depth-- > 0) {
    spile_rt_return_exit(&context_, cfa_of(depth), spile_rt_return_find(&context_, cfa_of(depth)));
    ASSERT_EQ(word_of(depth), 0x400000u);
  }
  EXPECT_EQ(context_.slot->shadow_depth, 0u);
}

TEST_F(Returns, SweptFramesWhoseStackIsGoneDoNotFault) {
  char* gone = static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (uint32_t i = 0; i < kTestShadowCapacity; ++i) {
    ASSERT_TRUE(spile_rt_return_push(&context_, reinterpret_cast<uint64_t>(gone) + 8 + 8 * i, 1));
  }
  munmap(gone, 4096);
  ASSERT_TRUE(call(0));
  EXPECT_EQ(context_.slot->shadow_depth, kTestShadowCapacity);
  leave(0);
}

// Stacks of coroutines, each with two pending returns of its own.
class Coroutines : public Returns {
 protected:
  static constexpr int kStacks = 10'000, kWords = 64;
  uint64_t cfa(int stack, int depth) { return reinterpret_cast<uint64_t>(&word(stack, depth)) + 8; }
  uint64_t& word(int stack, int depth) { return words_[static_cast<size_t>(stack * kWords + kWords - 1 - depth)]; }
  static uint64_t real(int stack, int depth) {
    return 0x400000 + static_cast<uint64_t>(stack) * 64 + static_cast<uint64_t>(depth);
  }
  bool call(int stack, int depth, Context& context) {
    word(stack, depth) = real(stack, depth);
    uint64_t* saves = spile_rt_return_enter(&context, cfa(stack, depth), 7);
    if (!saves) return false;
    saves[0] = static_cast<uint64_t>(stack);
    spile_rt_return_entered(&context, cfa(stack, depth), saves);
    word(stack, depth) = kReturned + 8;
    return true;
  }
  void leave(int stack, int depth, Context& context) {
    uint64_t* saves = spile_rt_return_find(&context, cfa(stack, depth));
    ASSERT_EQ(saves[0], static_cast<uint64_t>(stack));
    spile_rt_return_exit(&context, cfa(stack, depth), saves);
    ASSERT_EQ(word(stack, depth), real(stack, depth));
  }
  uint64_t skips() {
    uint64_t all = 0;
    for (uint64_t skipped : context_.slot->skipped) all += skipped;
    return all;
  }
  std::vector<uint64_t> words_ = std::vector<uint64_t>(size_t{kStacks} * kWords);
};

TEST_F(Coroutines, ReturnInTheOrderOfTheirEntries) {
  for (int round = 0; round < 3; ++round) {
    for (int stack = 0; stack < kStacks; ++stack)
      for (int depth : {0, 20}) ASSERT_TRUE(call(stack, depth, context_));
    for (int stack = 0; stack < kStacks; ++stack)
      for (int depth : {20, 0}) leave(stack, depth, context_);
    EXPECT_EQ(context_.slot->shadow_depth, 0u);
  }
  EXPECT_EQ(skips(), 0u);
}

TEST_F(Coroutines, AreLeftByOtherThreads) {
  for (int stack = 0; stack < kStacks / 10; ++stack)
    for (int depth : {0, 20}) ASSERT_TRUE(call(stack, depth, context_));
  std::thread([&] {
    Context other{};
    ASSERT_TRUE(spile_rt_enter(&other));
    for (int stack = 0; stack < kStacks / 10; ++stack)
      for (int depth : {20, 0}) leave(stack, depth, other);
    for (int stack = 0; stack < kStacks / 10; ++stack) ASSERT_TRUE(call(stack, 0, other));
    EXPECT_EQ(other.slot->shadow_depth, 0u);
    spile_rt_leave(&other);
  }).join();
  for (int stack = 0; stack < kStacks / 10; ++stack) leave(stack, 0, context_);
  EXPECT_EQ(context_.slot->shadow_depth, 0u);
  EXPECT_EQ(skips(), 0u);
}

// Destroyed while they wait, and their memory used again; or left by longjmp, and entered anew at the same place.
TEST_F(Coroutines, LeaveNothingBehindThatMatters) {
  for (int stack : {0, 1, 2, 3}) ASSERT_TRUE(call(stack, 0, context_));
  leave(0, 0, context_);  // from here on frames are spilled
  for (int round = 0; round < 40; ++round) {
    int depth = round % 2 ? round % kWords : 0;
    for (int stack = 10; stack < kStacks; ++stack) ASSERT_TRUE(call(stack, depth, context_)) << round;
    for (int stack = 10; stack < kStacks && round % 2; ++stack) word(stack, depth) = 0x55;
  }
  for (int stack : {1, 2, 3}) leave(stack, 0, context_);
  EXPECT_EQ(skips(), 0u);
}

TEST_F(Coroutines, TailCallsShareAStackSlot) {
  for (int stack : {0, 1, 2, 3}) ASSERT_TRUE(call(stack, 0, context_));
  ASSERT_TRUE(spile_rt_return_push(&context_, cfa(3, 0), 8));  // 3 tail-calls, still in the thread's stack
  word(3, 0) = kReturned + 16;
  leave(0, 0, context_);
  ASSERT_TRUE(spile_rt_return_push(&context_, cfa(3, 0), 9));
  word(3, 0) = kReturned + 24;
  leave(1, 0, context_);
  for (uint64_t site : {9u, 8u}) {
    uint64_t* saves = spile_rt_return_find(&context_, cfa(3, 0));
    EXPECT_EQ(context_.site_id, site);
    spile_rt_return_exit(&context_, cfa(3, 0), saves);
  }
  leave(3, 0, context_);
  leave(2, 0, context_);
}

TEST_F(Coroutines, UnwindersFindTheirOwnStack) {
  volatile size_t size = 8 * sizeof(uint64_t);
  auto* stack = static_cast<volatile uint64_t*>(__builtin_alloca(size));
  for (int other : {0, 1, 2, 3}) ASSERT_TRUE(call(other, 0, context_));
  leave(0, 0, context_);
  auto cfa_of = [&](int depth) { return reinterpret_cast<uint64_t>(&stack[7 - depth]) + 8; };
  for (int depth = 0; depth < 4; ++depth) {
    stack[7 - depth] = real(0, depth);
    ASSERT_TRUE(spile_rt_return_push(&context_, cfa_of(depth), 7));
    stack[7 - depth] = kReturned + 8;
  }
  EXPECT_EQ(context_.slot->shadow_depth, 0u);
  spile_rt_unwind(&context_, program_stack());
  for (int depth = 0; depth < 4; ++depth) EXPECT_EQ(stack[7 - depth], real(0, depth));
  EXPECT_EQ(word(1, 0), kReturned + 8) << "the unwinder is not on this stack";
  stack[4] = 0x77;  // left
  spile_rt_rewind_caught(&context_, program_stack());
  EXPECT_EQ(stack[4], 0x77u);
  for (int depth = 3; depth-- > 0;) {
    EXPECT_EQ(stack[7 - depth], kReturned + 8);
    spile_rt_return_exit(&context_, cfa_of(depth), spile_rt_return_find(&context_, cfa_of(depth)));
    EXPECT_EQ(stack[7 - depth], real(0, depth));
  }
  for (int other : {1, 2, 3}) leave(other, 0, context_);
  EXPECT_EQ(skips(), 0u);
}

TEST_F(Returns, UnwindRestoresWhatIsPending) {
  for (int depth = 0; depth < 5; ++depth) ASSERT_TRUE(call(depth));
  word(4) = 0x55;  // no address of ours any more
  spile_rt_unwind(&context_, program_stack());
  for (int depth = 0; depth < 4; ++depth) EXPECT_EQ(word(depth), real(depth, 0));
  EXPECT_EQ(word(4), 0x55u);
  EXPECT_EQ(context_.slot->skipped[abi::kSkipUnwound], 0u);
  spile_rt_unwind(&context_, program_stack());  // thrown again while unwinding
  EXPECT_EQ(word(0), real(0, 0));
}

// longjmp has left functions whose frames lay where the handler's are now, with return addresses of our code.
TEST_F(Returns, HandlersKeepTheirOwnReturnAddresses) {
  constexpr uint64_t kAround = 32 << 20;
  const auto code = reinterpret_cast<uint64_t>(&spile_rt_unwind);
  const uint64_t end = program_stack();
  for (uint64_t n = kTestShadowCapacity - 1; n > 0; --n) ASSERT_TRUE(spile_rt_return_push(&context_, end - 8 * n + 8, 7));
  test_cells.returned_begin = code - kAround;
  test_cells.returned_end = code + kAround;
  for (int n = 0; n < 3; ++n) {
    spile_rt_unwind(&context_, program_stack());
    spile_rt_unwind_step(&context_, program_stack());
    spile_rt_rewind_step(&context_, program_stack());
    spile_rt_rewind(&context_, program_stack(), 0);
    spile_rt_rewind_caught(&context_, program_stack());
  }
}

TEST_F(Returns, RewindTakesBackWhatTheExceptionHasNotLeft) {
  // Frames on this very stack, as rewind compares with where it runs; AddressSanitizer keeps elsewhere what has a size
  // that it knows.
  volatile size_t size = 8 * sizeof(uint64_t);
  auto* stack = static_cast<volatile uint64_t*>(__builtin_alloca(size));
  auto cfa_of = [&](int depth) { return reinterpret_cast<uint64_t>(&stack[7 - depth]) + 8; };
  for (int depth = 0; depth < 4; ++depth) {
    stack[7 - depth] = real(depth, 0);
    ASSERT_TRUE(spile_rt_return_push(&context_, cfa_of(depth), 7));
    stack[7 - depth] = kReturned + 8;
  }
  spile_rt_unwind(&context_, program_stack());
  stack[4] = 0x77;  // the two innermost frames are left, and their memory used again
  stack[5] = 0x77;
  spile_rt_rewind_caught(&context_, program_stack());
  EXPECT_EQ(stack[7], kReturned + 8);
  EXPECT_EQ(stack[6], kReturned + 8);
  EXPECT_EQ(stack[5], 0x77u);
  EXPECT_EQ(context_.slot->shadow_depth, 2u);
  EXPECT_EQ(context_.slot->skipped[abi::kSkipUnwound], 0u);
  for (int depth = 2; depth-- > 0;) {
    uint64_t* saves = spile_rt_return_find(&context_, cfa_of(depth));
    spile_rt_return_exit(&context_, cfa_of(depth), saves);
    EXPECT_EQ(stack[7 - depth], real(depth, 0));
  }
}

// A backtrace: the unwinder returns, nothing has been left. Frames on other stacks too, wherever these lie.
TEST_F(Returns, WalkedStacksArePendingAsBefore) {
  for (int stack = 0; stack < 3; ++stack)
    for (int depth = 0; depth < 5; ++depth) ASSERT_TRUE(call(depth, stack));
  spile_rt_unwind(&context_, program_stack());
  for (int stack = 0; stack < 3; ++stack) EXPECT_EQ(word(2, stack), real(2, stack));
  spile_rt_rewind(&context_, program_stack(), 0);
  for (int stack = 0; stack < 3; ++stack)
    for (int depth = 5; depth-- > 0;) leave(depth, stack);
  EXPECT_EQ(context_.slot->shadow_depth, 0u);
}

TEST_F(Returns, SweptFramesThatAnUnwinderNeverGaveBackAreCounted) {
  for (int depth = 0; depth < 5; ++depth) ASSERT_TRUE(call(depth));
  spile_rt_unwind(&context_, program_stack());
  for (uint32_t depth = 5; depth < kTestShadowCapacity; ++depth) ASSERT_TRUE(call(static_cast<int>(depth)));
  ASSERT_TRUE(call(kTestShadowCapacity));
  EXPECT_EQ(context_.slot->skipped[abi::kSkipUnwound], 5u);
}

TEST_F(Returns, OtherThreadsFrameIsFound) {
  ASSERT_TRUE(call(0));
  ASSERT_TRUE(call(1));
  std::thread([&] {
    Context other{};
    ASSERT_TRUE(spile_rt_enter(&other));
    ASSERT_NE(other.slot, context_.slot);
    uint64_t* saves = spile_rt_return_find(&other, cfa(0));
    EXPECT_EQ(saves[0], 0u);
    spile_rt_return_exit(&other, cfa(0), saves);
    EXPECT_EQ(word(0), real(0, 0));
    spile_rt_leave(&other);
  }).join();
  leave(1);
  EXPECT_EQ(context_.slot->shadow_depth, 0u);
}

TEST_F(Returns, ForkedChildLeavesItsParentsFrame) {
  ASSERT_TRUE(call(0));
  abi::ThreadSlot* parent = context_.slot;
  parent->owner += uint64_t{1} << 32;  // another process than this one
  std::thread([&] {
    Context child{};
    ASSERT_TRUE(spile_rt_enter(&child));
    uint64_t* saves = spile_rt_return_find(&child, cfa(0));
    spile_rt_return_exit(&child, cfa(0), saves);
    spile_rt_leave(&child);
  }).join();
  EXPECT_EQ(parent->shadow_depth, 1u);
  leave(0);
}

TEST_F(Returns, StayWhereTheyAreWhenTheControllerHasDied) {
  arena_.inherited()->process = context_.slot->owner >> 32;
  for (int depth = 0; depth < 3; ++depth) ASSERT_TRUE(call(depth));
  // A tail call: the second frame of the slot leads to the first.
  ASSERT_TRUE(spile_rt_return_push(&context_, cfa(2), 7));
  arena_.header()->controller_futex[0] = 0x40000000;
  EXPECT_FALSE(call(3));
  EXPECT_FALSE(spile_rt_return_push(&context_, cfa(3), 7));
  auto leave_by = [&](Context* context, int depth) {
    spile_rt_return_exit(context, cfa(depth), spile_rt_return_find(context, cfa(depth)));
    EXPECT_EQ(word(depth), real(depth, 0));
    word(depth) = kReturned + 8;
  };
  for (int depth = 2; depth >= 0; --depth) leave_by(&context_, depth);
  EXPECT_EQ(context_.slot->shadow_depth, 4u);
  // A child that was forked before: its stacks are copies, and it has no slot.
  std::thread([&] {
    Context child{};
    EXPECT_FALSE(spile_rt_enter_light(&child));
    for (int depth = 2; depth >= 0; --depth) leave_by(&child, depth);
  }).join();
}

TEST_F(Returns, OfSpilledFramesStayWhereTheyAreWhenTheControllerHasDied) {
  arena_.inherited()->process = context_.slot->owner >> 32;
  for (uint32_t depth = 0; depth <= kTestShadowCapacity; ++depth) ASSERT_TRUE(call(static_cast<int>(depth)));
  ASSERT_EQ(arena_.inherited()->spills_returns, 1u);
  arena_.header()->controller_futex[0] = 0x40000000;
  for (int round = 0; round < 2; ++round) {
    for (int depth = kTestShadowCapacity; depth >= 0; --depth) {
      spile_rt_return_exit(&context_, cfa(depth), spile_rt_return_find(&context_, cfa(depth)));
      EXPECT_EQ(word(depth), real(depth, 0));
    }
  }
}

TEST_F(Returns, AreGivenUpForGoodToAnUnwinderWhenTheControllerHasDied) {
  arena_.inherited()->process = context_.slot->owner >> 32;
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "local variables are not on the stack here";
#endif
  volatile uint64_t on_stack[4] = {0, real(1, 0), 0, 0};
  auto* place = const_cast<uint64_t*>(&on_stack[1]);
  ASSERT_TRUE(spile_rt_return_push(&context_, reinterpret_cast<uint64_t>(place) + 8, 7));
  on_stack[1] = kReturned + 8;
  on_stack[2] = kReturned + 16;  // what some function has left
  arena_.inherited()->first_stack_end = reinterpret_cast<uint64_t>(&on_stack[4]);
  arena_.header()->controller_futex[0] = 0x40000000;
  spile_rt_unwind(&context_, program_stack());
  EXPECT_EQ(on_stack[1], real(1, 0));
  EXPECT_EQ(on_stack[2], kReturned + 16);
}

// Two threads that have one thread pointer, on stacks of their own, one of which called before the other was there.
TEST_F(Returns, OfTheOverflowSlotAreInTheTable) {
  constexpr int kCalls = 2 * static_cast<int>(kTestShadowCapacity);
  abi::ThreadSlot* own = context_.slot;
  ASSERT_TRUE(call(0));
  arena_.table()->pid = own->owner >> 32;
  context_.slot = arena_.slot(abi::kOverflowSlot);
  context_.slot->shared = 1;
  context_.slot->owner = ~uint64_t{0};
  context_.overflow = 1;
  for (int depth = 0; depth < kCalls; ++depth) {
    ASSERT_TRUE(call(depth, 1)) << depth;
    ASSERT_TRUE(call(depth + 1)) << depth;
  }
  EXPECT_EQ(context_.slot->shadow_depth, 0u);
  for (int depth = kCalls; depth-- > 0;) {
    leave(depth, 1);
    leave(depth + 1);
  }
  leave(0);
  for (uint64_t skipped : context_.slot->skipped) EXPECT_EQ(skipped, 0u);
  context_.slot = own;
  context_.overflow = 0;
}

TEST_F(Returns, OfTheOverflowSlotAreGivenUpForGoodToAnUnwinder) {
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "local variables are not on the stack here";
#endif
  abi::ThreadSlot* own = context_.slot;
  context_.slot = arena_.slot(abi::kOverflowSlot);
  context_.slot->shared = 1;
  context_.slot->owner = ~uint64_t{0};
  context_.overflow = 1;
  volatile uint64_t on_stack[3] = {0, real(1, 0), 0};
  auto* place = const_cast<uint64_t*>(&on_stack[1]);
  ASSERT_TRUE(spile_rt_return_push(&context_, reinterpret_cast<uint64_t>(place) + 8, 7));
  on_stack[1] = kReturned + 8;
  on_stack[2] = kReturned + 16;  // what some function has left
  spile_rt_unwind(&context_, program_stack());
  EXPECT_EQ(on_stack[1], real(1, 0));
  EXPECT_EQ(on_stack[2], kReturned + 16);
  EXPECT_EQ(context_.slot->skipped[abi::kSkipUnwound], 1u);
  spile_rt_unwind(&context_, program_stack());
  EXPECT_EQ(context_.slot->skipped[abi::kSkipUnwound], 1u);
  context_.slot = own;
  context_.overflow = 0;
}

}  // namespace
}  // namespace spile::rt
