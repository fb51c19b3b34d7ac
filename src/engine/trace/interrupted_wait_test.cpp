#include "engine/trace/interrupted_wait.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace spile::engine {
namespace {

// Runs `act` in a child, which is killed when this ends.
template <typename Act>
class Child {
 public:
  explicit Child(Act act) : pid_(fork()) {
    if (pid_ != 0) return;
    alarm(60);
    for (;;) act();
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(SleepMark, SaysInWhichCallAThreadSleeps) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  char byte;
  const Child sleeper([&] { (void)!read(ends[0], &byte, 1); });
  std::optional<SleepMark> mark;
  for (int turn = 0; turn < 10'000 && !(mark && mark->call == SYS_read); ++turn) {
    usleep(1000);
    mark = SleepMark::read(sleeper.pid());
  }
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->call, static_cast<uint64_t>(SYS_read));
  EXPECT_EQ(mark->arguments[0], static_cast<uint64_t>(ends[0]));
  EXPECT_EQ(mark->arguments[2], 1u);
  EXPECT_NE(mark->stack_pointer, 0u);
  close(ends[0]);
  close(ends[1]);
}

// It may be about to make another call than the one that it has slept in last.
TEST(SleepMark, IsEmptyForAThreadThatRunsOrWaitsForAProcessor) {
  volatile uint64_t turns = 0;
  const Child runner([&] { turns = turns + 1; });
  usleep(50'000);
  for (int turn = 0; turn < 200; ++turn) EXPECT_FALSE(SleepMark::read(runner.pid()));
}

}  // namespace
}  // namespace spile::engine
