#include "session/arena/handler_guard.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/clock.h"

namespace spile::session {
namespace {

class HandlerGuardTest : public testing::Test {
 protected:
  HandlerGuardTest() : guard_(std::move(*HandlerGuard::create())) {
    page_ = static_cast<volatile char*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  ~HandlerGuardTest() override { munmap(const_cast<char*>(page_), 4096); }

  // What a handler does that ends in `body`: "" if it returned.
  template <typename Body>
  [[gnu::noinline]] std::string ended(Body body) {
    HandlerGuard::Call call(*guard_);
    if (sigsetjmp(call.place, 0) != 0) return guard_->reason();
    body();
    return "";
  }

  std::unique_ptr<HandlerGuard> guard_;
  volatile char* page_;
};

TEST_F(HandlerGuardTest, LetsHandlersReturn) {
  EXPECT_EQ(ended([] {}), "");
}

TEST_F(HandlerGuardTest, EndsOneThatFaultsEachTime) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ended([&] { (void)*page_; }), "died of SIGSEGV");
  EXPECT_EQ(ended([&] { *page_ = 1; }), "died of SIGSEGV");
}

TEST_F(HandlerGuardTest, EndsTheInnerOfTwo) {
  std::string inner;
  EXPECT_EQ(ended([&] {
              HandlerGuard::Pause pause(*guard_);
              inner = ended([&] { (void)*page_; });
            }),
            "");
  EXPECT_EQ(inner, "died of SIGSEGV");
}

TEST_F(HandlerGuardTest, EndsALoopBehindTheLimitOnly) {
  volatile bool go_on = true;
  guard_->set_limit(monotonic_ns());
  EXPECT_EQ(ended([&] {
              while (go_on) {
              }
            }),
            "did not end");
  guard_->set_limit(0);
  EXPECT_EQ(ended([&] {
              for (const int64_t until = monotonic_ns() + 100'000'000; monotonic_ns() < until;) {
              }
            }),
            "");
}

TEST_F(HandlerGuardTest, EndsALoopWhenASignalWaits) {
  sigset_t interrupt, before;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, &before);
  raise(SIGINT);
  volatile bool go_on = true;
  EXPECT_EQ(ended([&] {
              while (go_on) {
              }
            }),
            "did not end");
  int taken = 0;
  sigwait(&interrupt, &taken);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

TEST(HandlerGuardDeathTest, EndsAtOnceIfSpileFaultsAfterAHandler) {
  EXPECT_EXIT(
      {
        auto guard = std::move(*HandlerGuard::create());
        HandlerGuard::Call call(*guard);
        auto* page = static_cast<volatile char*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        (void)sigsetjmp(call.place, 0);
        (void)*page;  // the second time, too, where the handler is given up
      },
      testing::ExitedWithCode(1), "has damaged spile's own memory");
}

#if __has_feature(address_sanitizer)
const testing::ExitedWithCode kEndOfAFault(1);  // AddressSanitizer's own handler was there before
#else
const testing::KilledBySignal kEndOfAFault(SIGSEGV);
#endif

TEST(HandlerGuardDeathTest, LeavesFaultsOfOursAlone) {
  EXPECT_EXIT(
      {
        auto guard = std::move(*HandlerGuard::create());
        HandlerGuard::Call call(*guard);
        if (sigsetjmp(call.place, 0) != 0) _exit(0);
        HandlerGuard::Pause ours(*guard);
        auto* page = static_cast<volatile char*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        (void)*page;
      },
      kEndOfAFault, "");
}

}  // namespace
}  // namespace spile::session
