#include "abi/record.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "runtime/test_arena.h"

namespace spile::rt {
namespace {

// Reads what is in the ring, as the controller does; pads are left out.
std::vector<std::string> drain(abi::ThreadSlot* slot) {
  std::vector<std::string> payloads;
  char* ring = reinterpret_cast<char*>(slot) + kTestRing;
  while (slot->ring_tail != slot->ring_head) {
    auto* record = reinterpret_cast<abi::RecordHeader*>(ring + (slot->ring_tail & (test_ring_size - 1)));
    EXPECT_EQ(record->size % 8, 0u);
    if (record->kind != abi::kPad) {
      EXPECT_GE(record->size, sizeof(abi::RecordHeader));
      payloads.emplace_back(reinterpret_cast<char*>(record + 1), record->size - sizeof(abi::RecordHeader));
    }
    slot->ring_tail += record->size;
  }
  return payloads;
}

class Records : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(spile_rt_enter(&context_)); }
  bool put(const std::string& text) {
    if (!has_reader_) context_.slot->ring_waited = context_.slot->ring_tail + 1;  // has been waited for, in vain
    char* record = spile_rt_record_begin(&context_, abi::kPrintf, 7, 2048);
    if (!record) return false;
    char* at = spile_rt_record_put_long(record, -5);
    at = spile_rt_record_put_string(at, text.data(), static_cast<uint32_t>(text.size()));
    spile_rt_record_end(&context_, record, at);
    return true;
  }
  static std::string expected(const std::string& text) {
    int64_t number = -5;
    uint32_t length = static_cast<uint32_t>(text.size());
    std::string payload(reinterpret_cast<char*>(&number), 8);
    payload.append(reinterpret_cast<char*>(&length), 4).append(text);
    payload.resize((payload.size() + 7) / 8 * 8);
    return payload;
  }
  TestArena arena_;
  Context context_{};
  bool has_reader_ = false;
};

TEST_F(Records, HeaderTellsKindProbeAndTime) {
  context_.probe = 42;
  uint64_t before = __builtin_ia32_rdtsc();
  ASSERT_TRUE(put("x"));
  auto* record = reinterpret_cast<abi::RecordHeader*>(reinterpret_cast<char*>(context_.slot) + kTestRing);
  EXPECT_EQ(record->kind, abi::kPrintf);
  EXPECT_EQ(record->id, 7u);
  EXPECT_EQ(record->probe, 42u);
  EXPECT_EQ(record->size, 24u + 8 + 8);
  EXPECT_GE(record->time, before);
  EXPECT_LE(record->time, __builtin_ia32_rdtsc());
  EXPECT_LT(record->cpu, 4096);
}

TEST_F(Records, SayWhoseTheyAreWhereAsked) {
  test_record_owner_size = sizeof(abi::RecordOwner);
  auto* record = reinterpret_cast<abi::RecordHeader*>(reinterpret_cast<char*>(context_.slot) + kTestRing);
  auto* owner = reinterpret_cast<abi::RecordOwner*>(reinterpret_cast<char*>(record + 1) + 8 + 8);
  owner->process = owner->thread = 1;
  ASSERT_TRUE(put("x"));
  test_record_owner_size = 0;
  EXPECT_EQ(record->size, 24u + 8 + 8 + 8);
  EXPECT_EQ(owner->process, 0u);  // nobody has introduced this process, and nobody is asked
  EXPECT_EQ(owner->thread, 0u);
}

TEST_F(Records, WrapWithoutLossAtEverySize) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string text(random() % 300, 'a' + i % 26);
    for (int n = static_cast<int>(random() % 3); n >= 0; --n) {
      if (!put(text)) break;
    }
    for (const std::string& payload : drain(context_.slot)) ASSERT_EQ(payload, expected(text)) << i;
  }
}

TEST_F(Records, FullRingLosesAndCounts) {
  int written = 0;  // each asks for half the ring and uses little of it
  while (put("some text")) ++written;
  EXPECT_GT(written, 10);
  EXPECT_EQ(context_.slot->skipped[abi::kSkipOutputFull], 1u);
  EXPECT_EQ(drain(context_.slot).size(), static_cast<size_t>(written));
  // What is left of the ring and a record of half its size do not fit in together: the padding goes first.
  EXPECT_TRUE(put("again") || (drain(context_.slot).empty() && put("again")));
  EXPECT_EQ(spile_rt_record_begin(&context_, abi::kPrintf, 0, kTestRingSize), nullptr);
}

TEST_F(Records, WaitsForTheReader) {
  has_reader_ = true;
  abi::ThreadSlot* slot = context_.slot;
  std::atomic<bool> done = false;
  std::thread reader([&] {
    char* ring = reinterpret_cast<char*>(slot) + kTestRing;
    std::atomic_ref<uint64_t> head(slot->ring_head), tail(slot->ring_tail);
    while (!done || head != tail) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // a slow reader: the ring fills
      for (uint64_t end = head; tail != end;) {
        tail += reinterpret_cast<abi::RecordHeader*>(ring + (tail & (test_ring_size - 1)))->size;
      }
    }
  });
  int written = 0;
  while (written < 2000 && put("some text")) ++written;
  done = true;
  reader.join();
  EXPECT_EQ(written, 2000);
  EXPECT_EQ(slot->skipped[abi::kSkipOutputFull], 0u);
}

TEST_F(Records, WaitsOnceForAReaderThatStandsStill) {
  has_reader_ = true;
  auto start = std::chrono::steady_clock::now();
  while (put("some text")) {
  }
  auto waited_once = std::chrono::steady_clock::now() - start;
  start += waited_once;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(put("some text"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10 * waited_once)
      << "1,000 records, if each of them waits, take 1,000 times as long";
  EXPECT_EQ(context_.slot->skipped[abi::kSkipOutputFull], 1001u);
}

int drained;
void drain_host(void* context) { drained += static_cast<int>(drain(static_cast<abi::ThreadSlot*>(context)).size()); }

TEST_F(Records, ControllerDrainsInsteadOfLosing) {
  spile_rt_leave(&context_);
  test_in_controller = 1;
  ASSERT_TRUE(spile_rt_enter(&context_));
  ASSERT_EQ(context_.slot, arena_.slot(0));
  test_cells.host_context = reinterpret_cast<uint64_t>(context_.slot);
  test_cells.host_drain = reinterpret_cast<uint64_t>(&drain_host);
  drained = 0;
  for (int i = 0; i < 10000; ++i) ASSERT_TRUE(put("text"));
  EXPECT_EQ(drained + static_cast<int>(drain(context_.slot).size()), 10000);
  EXPECT_EQ(context_.slot->skipped[abi::kSkipOutputFull], 0u);
  EXPECT_EQ(spile_rt_record_begin(&context_, abi::kPrintf, 0, kTestRingSize), nullptr);
}

TEST_F(Records, RefusedWhenTheControllerIsGone) {
  arena_.header()->controller_futex[0] = 0x40000000;
  EXPECT_FALSE(put("x"));
  EXPECT_EQ(context_.slot->skipped[abi::kSkipControllerGone], 1u);
}

}  // namespace
}  // namespace spile::rt
