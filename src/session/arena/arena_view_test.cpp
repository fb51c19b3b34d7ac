#include "session/arena/arena_view.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/clock.h"

namespace spile::session {
namespace {

// A process whose only thread is said to be in a handler.
class HandlerThatRuns : public testing::Test {
 protected:
  void SetUp() override {
    layout_.slot_count = 4;
    layout_.slots_offset = 4 * abi::kPageSize;
    layout_.ring_offset = abi::kPageSize;
    layout_.ring_size = 2 * abi::kPageSize;
    layout_.slot_stride = layout_.ring_offset + layout_.ring_size;
    layout_.size = layout_.slots_offset + layout_.slot_count * layout_.slot_stride;
    auto arena = ArenaView::create(layout_, {});
    ASSERT_TRUE(arena.ok());
    arena_ = std::move(*arena);
    child_ = fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      alarm(60);
      for (;;) {
      }
    }
    abi::ThreadSlot& slot = arena_->slot(abi::kFirstSlot);
    slot.owner = static_cast<uint64_t>(child_) << 32 | static_cast<uint64_t>(child_);
    slot.busy = 1;
  }
  void TearDown() override {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  // Returns how long it is waited for, in ms.
  int64_t wait(uint32_t old = 0) {
    const int64_t begin = monotonic_ns();
    EXPECT_EQ(arena_->advance_epoch(), old);
    return (monotonic_ns() - begin) / 1'000'000;
  }

  codegen::ArenaLayout layout_;
  std::unique_ptr<ArenaView> arena_;
  pid_t child_ = 0;
};

TEST_F(HandlerThatRuns, IsWaitedFor) {
  EXPECT_GE(wait(), 100);
  EXPECT_EQ(arena_->slot(abi::kFirstSlot).busy, 1u);
}

TEST_F(HandlerThatRuns, IsNotWaitedForWhileItsThreadIsStopped) {
  ASSERT_EQ(kill(child_, SIGSTOP), 0);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child_), &info, WSTOPPED), 0);
  // A busy machine may interrupt the wait itself.
  int64_t shortest = wait();
  for (uint32_t turn = 1; turn < 20 && shortest >= 100; ++turn) {
    arena_->slot(abi::kFirstSlot).busy = 1 + turn % 2;
    shortest = std::min(shortest, wait(turn % 2));
  }
  EXPECT_LT(shortest, 100);
}

}  // namespace
}  // namespace spile::session
