#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "runtime/test_arena.h"

namespace spile::rt {
namespace {

int64_t wall_clock() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

TEST(ContextFunctions, ClockFollowsTheHeadersRate) {
  TestArena arena;
  Context context{};
  ASSERT_TRUE(spile_rt_enter(&context));
  int64_t before = wall_clock();
  int64_t now = spile_rt_clock_ns(&context);  // no rate yet: the system's clock
  EXPECT_GE(now, before);
  EXPECT_LE(now, wall_clock());
  abi::Clock& clock = arena.header()->clocks[0];
  clock.base_ns = 1'000'000;
  clock.base_tsc = __builtin_ia32_rdtsc();
  clock.shift = 32;
  clock.mult = uint64_t{1} << 31;  // half a ns a tick
  for (int i = 0; i < 1000; ++i) {
    uint64_t low = __builtin_ia32_rdtsc();
    now = spile_rt_clock_ns(&context);
    uint64_t high = __builtin_ia32_rdtsc();
    EXPECT_GE(now, 1'000'000 + static_cast<int64_t>((low - clock.base_tsc) / 2));
    EXPECT_LE(now, 1'000'000 + static_cast<int64_t>((high - clock.base_tsc) / 2));
  }
  clock.base_tsc += uint64_t{1} << 40;  // this CPU's counter lags behind
  EXPECT_LT(spile_rt_clock_ns(&context), 1'000'000);
  spile_rt_leave(&context);
}

// A reader never sees the numbers of two different updates.
TEST(ContextFunctions, ClockIsConsistentWhileUpdated) {
  TestArena arena;
  auto* header = arena.header();
  // So that only the base counts.
  for (abi::Clock& clock : header->clocks)
    clock = {.mult = 1,
             .base_tsc = __builtin_ia32_rdtsc(),
             .base_ns = 1,
             .base_monotonic = 0,
             .ticks_mult = 0,
             .shift = 63,
             .reserved = 0};
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (uint32_t n = 1; !stop; ++n) {
      abi::Clock& clock = header->clocks[n % 2];
      __atomic_store_n(&clock.base_ns, 0, __ATOMIC_SEQ_CST);  // which nobody may see, however long it stands
      if (n % 1000 == 0) usleep(100);
      __atomic_store_n(&clock.base_tsc, __builtin_ia32_rdtsc(), __ATOMIC_SEQ_CST);
      __atomic_store_n(&clock.base_ns, n, __ATOMIC_SEQ_CST);
      __atomic_store_n(&header->clock_sequence, n, __ATOMIC_SEQ_CST);
    }
  });
  Context context{};
  ASSERT_TRUE(spile_rt_enter(&context));
  int64_t last = 0;
  for (int i = 0; i < 200000; ++i) {
    int64_t before = wall_clock(), now = spile_rt_clock_ns(&context);
    if (now >= before) continue;  // the system's clock: the clock was written twice meanwhile, three times
    ASSERT_GE(now, std::max<int64_t>(last, 1));
    last = now;
  }
  stop = true;
  writer.join();
  spile_rt_leave(&context);
}

TEST(ContextFunctions, TellWhoRuns) {
  TestArena arena;
  arena.header()->target_pid = 4711;
  Context context{};
  ASSERT_TRUE(spile_rt_enter(&context));
  EXPECT_EQ(spile_rt_pid(&context), getpid());
  EXPECT_EQ(spile_rt_tid(&context), gettid());
  EXPECT_EQ(spile_rt_uid(&context), getuid());
  EXPECT_EQ(spile_rt_target(&context), 4711);
  cpu_set_t old, one;
  sched_getaffinity(0, sizeof(old), &old);
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  sched_setaffinity(0, sizeof(one), &one);
  EXPECT_EQ(spile_rt_cpu(&context), 0);
  sched_setaffinity(0, sizeof(old), &old);
  char before[16], out[512];
  prctl(PR_GET_NAME, before);
  prctl(PR_SET_NAME, "renamed later");
  ++arena.table()->changes;  // as the entry of prctl does
  spile_rt_execname(&context, out);
  EXPECT_STREQ(out, "renamed later");
  prctl(PR_SET_NAME, before);
  spile_rt_leave(&context);
}

// A thread may get a dead one's stack, and so its thread pointer and slot, but not its identity.
TEST(ContextFunctions, SuccessorOnTheSameThreadPointerIsNotItsPredecessor) {
  TestArena arena;
  for (int i = 0; i < 3; ++i) {
    std::thread([] {
      Context context{};
      ASSERT_TRUE(spile_rt_enter(&context));
      EXPECT_EQ(spile_rt_tid(&context), gettid());
      spile_rt_leave(&context);
    }).join();
  }
}

TEST(ContextFunctions, WithoutAControllerOnlyWhatIsKnown) {
  TestArena arena;
  Context context{};
  ASSERT_TRUE(spile_rt_enter(&context));
  arena.header()->controller_futex[0] = FUTEX_OWNER_DIED;
  EXPECT_EQ(spile_rt_uid(&context), -1);
  EXPECT_EQ(spile_rt_clock_ns(&context), 0);
  char out[512] = "x";
  spile_rt_execname(&context, out);
  EXPECT_STREQ(out, "");
  spile_rt_leave(&context);
}

}  // namespace
}  // namespace spile::rt
