#include "base/processes/spawn.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace spile {
namespace {

// The child sees no mask and no ignored signal of ours, and leads a group of its own.
TEST(Spawn, ChildHasItsOwnGroupAndNoSignalsOfOurs) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  const auto handler = signal(SIGUSR2, SIG_IGN);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  pid_t pid = 0;
  const std::string script =
      "read _ _ _ _ group _ < /proc/$$/stat; [ $group = $$ ] || exit 1; "
      "while read name bits; do case $name in SigBlk:|SigIgn:) [ $((0x$bits & 0xa00)) = 0 ] || exit 2;; esac; done < "
      "/proc/$$/status; exit 7";
  EXPECT_EQ(spawn_apart({"sh", "-c", script}, actions, &pid), 0);
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  pid = -5;
  EXPECT_EQ(spawn_apart({"/nowhere/program"}, actions, &pid), ENOENT);
  EXPECT_EQ(pid, -5);
  posix_spawn_file_actions_destroy(&actions);
  signal(SIGUSR2, handler);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

// As the caller's caller would have started it: Ctrl-C is for both.
TEST(Spawn, ChildBesideTheCallerHasItsGroup) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  pid_t pid = 0;
  const std::string script = "read _ _ _ _ group _ < /proc/$$/stat; [ $group = " + std::to_string(getpgrp()) +
                             " ] || exit 1; while read name bits; do [ $name != SigBlk: ] || [ $((0x$bits)) = 0 ] || exit 2; "
                             "done < /proc/$$/status; exit 7";
  EXPECT_EQ(spawn({"sh", "-c", script}, &pid), 0);
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(spawn({"/nowhere/program"}, &pid), ENOENT);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace spile
