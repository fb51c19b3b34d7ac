#include "session/terms/trust.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace spile::session {
namespace {

// A child that has done `change` and waits until the test ends.
class Child {
 public:
  explicit Child(const std::function<bool()>& change) {
    int ready[2];
    if (pipe(ready) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      char done = change() ? 'y' : 'n';
      (void)!write(ready[1], &done, 1);
      pause();
      _exit(0);
    }
    char done = 0;
    changed_ = read(ready[0], &done, 1) == 1 && done == 'y';
    close(ready[0]);
    close(ready[1]);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  bool changed() const { return changed_; }

 private:
  pid_t pid_ = -1;
  bool changed_ = false;
};

TEST(Trust, IsGivenToAProcessWithOurRights) {
  Child child([] { return true; });
  EXPECT_EQ(why_untrusted(child.pid()), "");
}

TEST(Trust, IsNotGivenToAProcessOfAnotherUser) {
  Child child([] { return setresuid(65534, 65534, 65534) == 0; });
  if (!child.changed()) GTEST_SKIP() << "only root can become another user";
  EXPECT_EQ(why_untrusted(child.pid()), "process " + std::to_string(child.pid()) + " belongs to user 65534");
}

TEST(Trust, LooksAtAllUsersOfAProcess) {
  Child child([] { return setresuid(static_cast<uid_t>(-1), static_cast<uid_t>(-1), 65534) == 0; });  // only the saved one
  if (!child.changed()) GTEST_SKIP() << "only root can become another user";
  EXPECT_NE(why_untrusted(child.pid()), "");
}

TEST(Trust, HasNothingToSayOfAProcessThatIsGone) {
  pid_t pid = fork();
  if (pid == 0) _exit(0);
  waitpid(pid, nullptr, 0);
  EXPECT_EQ(why_untrusted(pid), "");
}

TEST(DifferentUsers, AreNamedByTheFirstPair) {
  Child ours([] { return true; });
  Child theirs([] { return setresuid(65534, 65534, 65534) == 0; });
  if (!theirs.changed()) GTEST_SKIP() << "only root can become another user";
  pid_t both[] = {ours.pid(), theirs.pid()};
  EXPECT_EQ(different_users(both), "process " + std::to_string(ours.pid()) + " of user 0 and process " +
                                       std::to_string(theirs.pid()) + " of user 65534");
  pid_t one[] = {theirs.pid(), theirs.pid()};
  EXPECT_EQ(different_users(one), "");
}

TEST(LastLooks, DistrustAProcessThatEndedUnseen) {
  LastLooks looks;
  looks.at_end(getpid());
  looks.after_end(getpid());
  EXPECT_EQ(looks.why_untrusted(), "");
  looks.after_end(4711);
  EXPECT_EQ(looks.why_untrusted(), "process 4711 has ended before spile could look at its user");
}

TEST(LastLooks, ForgetWhatTheySawBeforeAnExec) {
  LastLooks looks;
  looks.at_end(getpid());
  looks.after_exec(getpid());
  looks.after_end(getpid());
  EXPECT_NE(looks.why_untrusted(), "") << "the exec may have changed its user";
}

TEST(LastLooks, KeepTheFirstReason) {
  LastLooks looks;
  looks.after_release(1);
  looks.after_end(2);
  EXPECT_EQ(looks.why_untrusted(), "process 1 was released, and may have changed its user");
}

}  // namespace
}  // namespace spile::session
