#include "session/invocation/time_limit.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

namespace spile::session {
namespace {

// Each runs in a process of its own: the timer and the handler of SIGALRM are the process's.
using TimeLimitDeathTest = testing::Test;

TEST_F(TimeLimitDeathTest, EndsAProgramThatStillCompiles) {
  EXPECT_EXIT(
      {
        start_time_limit(20'000'000);
        while (true) pause();
      },
      testing::ExitedWithCode(1), "ERROR: the 0\\.02 s of -T ended before the script was compiled");
}

TEST_F(TimeLimitDeathTest, LeavesAProgramThatHasCompiledAlone) {
  EXPECT_EXIT(
      {
        start_time_limit(3'600'000'000'000);
        compiled_in_time();
        itimerval left{};
        getitimer(ITIMER_REAL, &left);
        bool armed = left.it_value.tv_sec != 0 || left.it_value.tv_usec != 0;
        _exit(armed || signal(SIGALRM, SIG_DFL) != SIG_DFL ? 2 : 0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(TimeLimitDeathTest, StartsNoTimerWithoutALimit) {
  EXPECT_EXIT(
      {
        start_time_limit(0);
        itimerval left{};
        getitimer(ITIMER_REAL, &left);
        _exit(left.it_value.tv_sec == 0 && left.it_value.tv_usec == 0 ? 0 : 2);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace spile::session
