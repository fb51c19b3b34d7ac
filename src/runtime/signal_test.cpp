// A signal handler of the traced program may run probed functions at any instruction of a handler of ours. Here one
// runs after every single instruction (the CPU's trap flag), and does all that the interrupted code does.

#include <gtest/gtest.h>
#include <signal.h>

#include "abi/map_layout.h"
#include "abi/record.h"
#include "runtime/test_arena.h"

namespace spile::rt {
namespace {

constexpr uint64_t kReturned = 0x1000;
const abi::MapShape kShape{8, 8, 256, 0, 1, 0, abi::map_buckets(256), 0};
constexpr uint32_t kScalar = 0, kMap = 64;

struct Tally {
  uint64_t light = 0, full = 0, refused = 0, lost = 0, returns = 0, signals = 0;
};
volatile int64_t key = 0;
Tally main_tally, signal_tally;

// What a probed function does: counts, writes to a map and a ring, and has a pending return. noinline: a stack of its
// own.
[[gnu::noinline]] void hit(Tally& tally, int depth) {
  Context context{};
  if (spile_rt_enter_light(&context)) {
    spile_rt_long_add(&context, spile_rt_shard(&context, kScalar), 1);
    spile_rt_leave_light(&context);
    ++tally.light;
  }
  context = {};
  bool pushed = false;
  volatile uint64_t words[2] = {0x400000 + static_cast<uint64_t>(depth), 0};  // [0]: the return address
  uint64_t cfa = reinterpret_cast<uint64_t>(&words[1]);
  bool light = depth % 2;  // a return probe that only accumulates has no guard
  if (light) {
    ASSERT_TRUE(spile_rt_enter_light(&context));
    pushed = spile_rt_return_push(&context, cfa, 5);
    spile_rt_leave_light(&context);
  } else if (spile_rt_enter(&context)) {
    key = key + 1;
    auto* value =
        static_cast<int64_t*>(spile_rt_map_insert_long(&context, spile_rt_epoch_shard(&context, kMap), &kShape, key % 200));
    spile_rt_long_add(&context, value, 1);
    if (char* record = spile_rt_record_begin(&context, abi::kPrintf, 0, 8)) {
      spile_rt_record_end(&context, record, spile_rt_record_put_long(record, depth));
    } else {
      ++tally.lost;
    }
    context.slot->ring_tail = context.slot->ring_head;
    pushed = spile_rt_return_push(&context, cfa, 5);
    ++tally.full;
    spile_rt_leave(&context);
  } else {
    ++tally.refused;
  }
  if (!pushed) return;
  words[0] = kReturned;
  if (depth > 0) hit(tally, depth - 1);
  Context exit{};
  bool runs = light ? spile_rt_enter_light(&exit) : spile_rt_enter(&exit);
  uint64_t* found = spile_rt_return_find(&exit, cfa);
  if (exit.site_id != 5) abort();
  spile_rt_return_exit(&exit, cfa, found);
  if (words[0] != 0x400000 + static_cast<uint64_t>(depth)) abort();
  if (runs && !light) spile_rt_leave(&exit);
  ++tally.returns;
}

void on_signal(int) {
  ++signal_tally.signals;
  hit(signal_tally, 1 + static_cast<int>(signal_tally.signals % 2));
}

// While on, the thread takes a SIGTRAP after every instruction outside of signal handlers.
[[gnu::noinline]] void step_by_step(bool on) {
  if (on)
    asm volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tleaq 128(%%rsp), %%rsp" ::
                     : "cc", "memory");
  else
    asm volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tleaq 128(%%rsp), %%rsp" ::
                     : "cc", "memory");
}

TEST(Signals, InterruptedAtAnyInstructionNothingIsLost) {
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "under ThreadSanitizer the handler would interrupt its runtime, at any instruction of that";
#endif
  TestArena arena;
  test_cells.returned_begin = kReturned;
  test_cells.returned_end = kReturned + 1;
  main_tally = signal_tally = {};
  hit(main_tally, 0);  // claims the slot
  signal(SIGTRAP, &on_signal);
  for (int i = 0; i < 6; ++i) {
    step_by_step(true);
    hit(main_tally, 3);
    step_by_step(false);
  }
  signal(SIGTRAP, SIG_DFL);

  abi::ThreadSlot* slot = arena.slot(2);
  char* shards = reinterpret_cast<char*>(slot) + kTestShards;
  EXPECT_GT(signal_tally.signals, 5000u);
  EXPECT_GT(signal_tally.refused, 500u);
  EXPECT_EQ(*reinterpret_cast<uint64_t*>(shards + kScalar), main_tally.light + signal_tally.light);
  EXPECT_EQ(slot->shadow_depth, 0u);
  EXPECT_EQ(main_tally.refused, 0u);
  EXPECT_EQ(main_tally.lost + signal_tally.lost, 0u);
  EXPECT_GT(signal_tally.full, signal_tally.refused);
  // An exit that was refused is counted too, beside the entries.
  EXPECT_GE(slot->skipped[abi::kSkipReentrant], signal_tally.refused);
  Context context{};
  ASSERT_TRUE(spile_rt_enter(&context));
  uint64_t sum = 0;
  for (int64_t k = 0; k < 200; ++k) {
    if (void* value = spile_rt_map_find_long(&context, shards + kMap, &kShape, k)) sum += *static_cast<uint64_t*>(value);
  }
  EXPECT_EQ(sum, main_tally.full + signal_tally.full);
  spile_rt_leave(&context);
}

}  // namespace
}  // namespace spile::rt
