#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "runtime/test_arena.h"

namespace spile::rt {
namespace {

TEST(Thread, EnterClaimsOneSlotAndRefusesToNest) {
  TestArena arena;
  Context outer{}, inner{};
  ASSERT_TRUE(spile_rt_enter(&outer));
  EXPECT_EQ(outer.slot, arena.slot(2));
  EXPECT_EQ(outer.slot->busy, 1u);
  EXPECT_EQ(outer.slot->owner, static_cast<uint64_t>(getpid()) << 32 | static_cast<uint32_t>(gettid()));
  EXPECT_FALSE(spile_rt_enter(&inner));
  EXPECT_EQ(inner.slot, outer.slot);
  EXPECT_EQ(outer.slot->skipped[abi::kSkipReentrant], 1u);
  spile_rt_leave(&outer);
  EXPECT_EQ(outer.slot->busy, 0u);
  ASSERT_TRUE(spile_rt_enter(&inner));
  EXPECT_EQ(inner.slot, arena.slot(2));
  spile_rt_leave(&inner);
  EXPECT_EQ(arena.slot(3)->owner, 0u);
}

// As in a program without a psABI thread pointer: found by rdfsbase alone, and never by what fs:0 happens to say.
TEST(Thread, WithoutSelfPointersEveryThreadStillHasItsSlot) {
  TestArena arena;
  arena.table()->self_pointers = 2;
  abi::ThreadSlot* slots[3];
  for (auto& slot : slots) {
    std::thread other([&] {
      Context context{};
      for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(spile_rt_enter(&context));
        EXPECT_TRUE(i == 0 || slot == context.slot);
        slot = context.slot;
        spile_rt_leave(&context);
      }
    });
    Context context{};
    ASSERT_TRUE(spile_rt_enter(&context));
    other.join();
    EXPECT_NE(context.slot, slot);
    spile_rt_leave(&context);
  }
  EXPECT_EQ(arena.table()->self_pointers, 2u);
}

TEST(Thread, SelfPointersAreNoticed) {
  TestArena arena;
  Context context{};
  ASSERT_TRUE(spile_rt_enter(&context));
  spile_rt_leave(&context);
  EXPECT_EQ(arena.table()->self_pointers, 1u);
}

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
// With another fs base for a moment. Nothing in here may need the C library's TLS.
[[gnu::noinline]] abi::ThreadSlot* slot_with_base(uint64_t base) {
  uint64_t own;
  Context context{};
  asm volatile("rdfsbase %0" : "=r"(own));
  asm volatile("wrfsbase %0" ::"r"(base));
  bool entered = spile_rt_enter_light(&context);
  if (entered) spile_rt_leave_light(&context);
  asm volatile("wrfsbase %0" ::"r"(own));
  return entered ? context.slot : nullptr;
}

TEST(Thread, AnyThreadPointerHasItsSlot) {
  TestArena arena;
  EXPECT_EQ(slot_with_base(0), arena.slot(2));  // as before the C library has set up
  Context context{};
  ASSERT_TRUE(spile_rt_enter_light(&context));
  EXPECT_EQ(context.slot, arena.slot(3));
  EXPECT_EQ(arena.table()->self_pointers, 1u);
  EXPECT_EQ(slot_with_base(0), arena.slot(2));  // fs:0 faults
  EXPECT_EQ(slot_with_base(64), arena.slot(4));
  EXPECT_EQ(slot_with_base(64), arena.slot(4));
  EXPECT_EQ(arena.table()->self_pointers, 2u);
  uint64_t zero = 0, other = context.slot->thread_pointer - 1;
  EXPECT_EQ(slot_with_base(reinterpret_cast<uint64_t>(&zero)), arena.slot(5));
  EXPECT_EQ(slot_with_base(reinterpret_cast<uint64_t>(&other)), arena.slot(6));  // says that it is the main thread
  ASSERT_TRUE(spile_rt_enter_light(&context));
  EXPECT_EQ(context.slot, arena.slot(3));
}
#endif

// As the controller marks it when a thread has ended.
TEST(Thread, EntriesOfEndedThreadsAreTaken) {
  TestArena arena;
  Context context{};
  ASSERT_TRUE(spile_rt_enter(&context));
  spile_rt_leave(&context);
  abi::ThreadSlot* own = context.slot;
  uint64_t key = own->thread_pointer;
  abi::ThreadTableEntry* entry = &arena.table()->entries[abi::thread_table_index(key - 1)];
  ASSERT_EQ(entry->thread_pointer, key);
  entry->thread_pointer = abi::kGoneEntry;
  own->owner = 0;
  arena.header()->taken[0] = 0;
  context.slot = nullptr;
  ASSERT_TRUE(spile_rt_enter(&context));
  spile_rt_leave(&context);
  EXPECT_EQ(context.slot, own);
  EXPECT_EQ(entry->thread_pointer, key);
  EXPECT_EQ(arena.header()->taken[0], uint64_t{1} << abi::kFirstSlot);
}

// The load from the bell fails, here by a signal's handler (fault_catcher.h); nobody maps more.
TEST(Thread, WithoutMoreSlotsTheOverflowSlotIsShared) {
  TestArena arena(2);
  Context context{};
  ASSERT_TRUE(spile_rt_enter(&context));
  EXPECT_EQ(context.slot, arena.slot(abi::kOverflowSlot));
  EXPECT_EQ(context.overflow, 1u);
  spile_rt_leave(&context);
}

TEST(Thread, DisabledArenaRefusesSilently) {
  TestArena arena;
  arena.header()->enabled = 0;
  Context context{};
  EXPECT_FALSE(spile_rt_enter(&context));
  EXPECT_FALSE(spile_rt_enter_light(&context));
  for (uint64_t count : context.slot->skipped) EXPECT_EQ(count, 0u);
}

TEST(Thread, WithoutAControllerOnlyLightHandlersOfKnownThreadsRun) {
  TestArena arena;
  Context context{};
  ASSERT_TRUE(spile_rt_enter_light(&context));
  arena.header()->controller_futex[0] = 0x40000000;
  EXPECT_FALSE(spile_rt_enter(&context));
  EXPECT_EQ(context.slot->skipped[abi::kSkipControllerGone], 1u);
  EXPECT_TRUE(spile_rt_enter_light(&context));
  std::thread([&] {
    Context unknown{};
    EXPECT_FALSE(spile_rt_enter_light(&unknown));
    EXPECT_EQ(unknown.slot, arena.slot(abi::kOverflowSlot));
    EXPECT_EQ(arena.slot(abi::kFirstSlot + 1)->owner, 0u);
  }).join();
}

TEST(Thread, EntersInTheEpochOfTheArena) {
  TestArena arena;
  arena.header()->epoch = 1;
  Context context{};
  ASSERT_TRUE(spile_rt_enter(&context));
  EXPECT_EQ(context.slot->busy, 2u);
  EXPECT_EQ(static_cast<char*>(spile_rt_epoch_shard(&context, 8)) - static_cast<char*>(spile_rt_shard(&context, 8)),
            kTestEpochStride);
  spile_rt_leave(&context);
}

// More threads than slots: some share the overflow slot. No addition may be lost.
TEST(Thread, EveryAdditionIsCounted) {
  TestArena arena(4);
  arena.inherited()->slots_are_all = 1;
  constexpr int kThreads = 8, kRounds = 100000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < kRounds; ++i) {
        Context context{};
        while (!spile_rt_enter_light(&context)) {
        }
        spile_rt_long_add(&context, spile_rt_shard(&context, 0), 1);
        spile_rt_leave_light(&context);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  uint64_t sum = 0;
  for (uint32_t i = 0; i < 4; ++i) sum += *reinterpret_cast<uint64_t*>(reinterpret_cast<char*>(arena.slot(i)) + kTestShards);
  EXPECT_EQ(sum, uint64_t{kThreads} * kRounds);
}

// Its holder is the thread itself, interrupted by a signal, whose handler can't wait for it.
TEST(Thread, OverflowSlotRefusesToNest) {
  TestArena arena(2);  // the controller's and the overflow slot
  arena.inherited()->slots_are_all = 1;
  Context context{}, nested{};
  ASSERT_TRUE(spile_rt_enter(&context));
  EXPECT_EQ(context.slot, arena.slot(1));
  EXPECT_EQ(arena.slot(1)->lock, static_cast<uint32_t>(gettid()));
  EXPECT_FALSE(spile_rt_enter_light(&nested));
  EXPECT_EQ(arena.slot(1)->skipped[abi::kSkipReentrant], 1u);
  spile_rt_leave(&context);
  EXPECT_EQ(arena.slot(1)->lock, 0u);
}

TEST(Thread, ManyThreadsRaceForSlots) {
  TestArena arena(64);
  constexpr int kThreads = 40;
  std::vector<std::thread> threads;
  std::vector<abi::ThreadSlot*> slots(kThreads);
  std::atomic<int> ready = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (++ready; ready < kThreads;) std::this_thread::yield();
      Context context{};
      ASSERT_TRUE(spile_rt_enter(&context));
      slots[t] = context.slot;
      spile_rt_leave(&context);
      ASSERT_TRUE(spile_rt_enter(&context));
      EXPECT_EQ(context.slot, slots[t]);
      spile_rt_leave(&context);
    });
  }
  for (auto& thread : threads) thread.join();
  std::sort(slots.begin(), slots.end());
  EXPECT_EQ(std::unique(slots.begin(), slots.end()), slots.end());
}

TEST(Thread, LockTimesOutAndIsCounted) {
  TestArena arena;
  Context context{};
  ASSERT_TRUE(spile_rt_enter(&context));
  uint64_t offset = arena.global_offset();
  ASSERT_TRUE(spile_rt_lock(&context, offset));
  EXPECT_EQ(*reinterpret_cast<uint32_t*>(arena.global()), 3u);  // slot 2, plus one
  std::thread([&] {
    Context other{};
    ASSERT_TRUE(spile_rt_enter(&other));
    EXPECT_FALSE(spile_rt_lock(&other, offset));
    EXPECT_EQ(other.slot->skipped[abi::kSkipLockTimeout], 1u);
    spile_rt_leave(&other);
  }).join();
  spile_rt_unlock(&context, offset);
  EXPECT_TRUE(spile_rt_lock(&context, offset));
  spile_rt_unlock(&context, offset);
  arena.header()->controller_futex[0] = 0x40000000;
  EXPECT_FALSE(spile_rt_lock(&context, offset));
  EXPECT_EQ(context.slot->skipped[abi::kSkipControllerGone], 1u);
  spile_rt_leave(&context);
}

// spile copies elements under a lock that a handler takes away, however often, but for a reading that has failed many times.
TEST(Thread, LockOfAReaderIsTakenAway) {
  TestArena arena;
  Context handler{};
  ASSERT_TRUE(spile_rt_enter(&handler));
  auto* lock = reinterpret_cast<uint32_t*>(arena.global());
  const uint64_t offset = arena.global_offset();
  test_in_controller = 1;
  Context reader{};
  ASSERT_TRUE(spile_rt_enter(&reader));
  ASSERT_TRUE(spile_rt_lock_to_read(&reader, offset, 0));
  EXPECT_TRUE(spile_rt_unlock_read(&reader, offset));
  EXPECT_EQ(*lock, 0u);
  ASSERT_TRUE(spile_rt_lock_to_read(&reader, offset, 0));
  test_in_controller = 0;
  ASSERT_TRUE(spile_rt_lock(&handler, offset));
  EXPECT_EQ(*lock, 3u);
  test_in_controller = 1;
  EXPECT_FALSE(spile_rt_unlock_read(&reader, offset));
  EXPECT_EQ(*lock, 3u);  // the handler's
  test_in_controller = 0;
  spile_rt_unlock(&handler, offset);
  test_in_controller = 1;
  ASSERT_TRUE(spile_rt_lock_to_read(&reader, offset, 1'000));
  test_in_controller = 0;
  EXPECT_FALSE(spile_rt_lock(&handler, offset));
  test_in_controller = 1;
  EXPECT_TRUE(spile_rt_unlock_read(&reader, offset));
  EXPECT_EQ(*lock, 0u);
  spile_rt_leave(&reader);
  test_in_controller = 0;
  spile_rt_leave(&handler);
}

TEST(Thread, LockOfADeadThreadIsTakenOver) {
  TestArena arena;
  Context context{};
  ASSERT_TRUE(spile_rt_enter(&context));
  auto* lock = reinterpret_cast<uint32_t*>(arena.global());
  *lock = 6;  // slot 5, in a handler
  arena.slot(5)->busy = 1;
  EXPECT_FALSE(spile_rt_lock(&context, arena.global_offset()));
  arena.slot(5)->busy = 0;  // freed by the controller
  EXPECT_TRUE(spile_rt_lock(&context, arena.global_offset()));
  EXPECT_EQ(*lock, 3u);
  // Still ours, as if the slot's last owner had died: a thread's handlers don't nest.
  EXPECT_TRUE(spile_rt_lock(&context, arena.global_offset()));
  *lock = 1;  // the controller's, which is never busy
  EXPECT_FALSE(spile_rt_lock(&context, arena.global_offset()));
  *lock = 12345;
  EXPECT_FALSE(spile_rt_lock(&context, arena.global_offset()));
  EXPECT_EQ(context.slot->skipped[abi::kSkipLockTimeout], 3u);
  spile_rt_leave(&context);
}

TEST(Thread, FreedSlotIsCleanForItsNextOwner) {
  TestArena arena(3);
  Context context{};
  uint64_t word = 5;
  ASSERT_TRUE(spile_rt_enter(&context));
  ASSERT_TRUE(spile_rt_return_push(&context, reinterpret_cast<uint64_t>(&word) + 8, 1));
  abi::ThreadSlot* slot = context.slot;
  arena.header()->taken[0] = 0;  // as the controller frees it
  slot->busy = 0;
  slot->owner = 0;
  std::thread([&] {
    Context next{};
    ASSERT_TRUE(spile_rt_enter(&next));
    EXPECT_EQ(next.slot, slot);
    EXPECT_EQ(reinterpret_cast<abi::ShadowFrame*>(reinterpret_cast<char*>(slot) + kTestShadow)->stack_slot, 0u);
    spile_rt_leave(&next);
  }).join();
}

TEST(Thread, LocksExclude) {
  TestArena arena;
  int64_t total = 0;
  std::vector<std::thread> threads;
  std::atomic<int64_t> done = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        Context context{};
        ASSERT_TRUE(spile_rt_enter(&context));
        if (spile_rt_lock(&context, arena.global_offset())) {
          total = total + 1;
          spile_rt_unlock(&context, arena.global_offset());
          ++done;
        }
        spile_rt_leave(&context);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(total, done);
  EXPECT_GT(total, 0);
}

TEST(Thread, ScratchIsReleasedByMark) {
  TestArena arena;
  Context context{};
  ASSERT_TRUE(spile_rt_enter(&context));
  uint64_t mark = spile_rt_frame_mark(&context);
  char* first = static_cast<char*>(spile_rt_frame(&context, 10));
  char* second = static_cast<char*>(spile_rt_frame(&context, 10));
  EXPECT_EQ(second - first, 16);
  EXPECT_EQ(spile_rt_frame(&context, kTestScratchSize), nullptr);
  spile_rt_frame_release(&context, mark);
  EXPECT_EQ(spile_rt_frame(&context, 10), first);
  spile_rt_leave(&context);
}

}  // namespace
}  // namespace spile::rt
