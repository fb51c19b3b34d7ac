#pragma once
// PTRACE_SEIZE with a time limit, for threads of a process that may be in execve(2). PTRACE_SEIZE blocks until that call is over.
// The call waits until all other threads have ended, and a traced thread has ended only when its tracer has waited for it. So a
// tracer that has seized one thread of the process and blocks on another one would wait for ever.

#include <signal.h>
#include <sys/types.h>
#include <time.h>

#include <chrono>

namespace spile::engine {

// Seizes threads of one process, from one thread of spile. Sets the action for a real-time signal (SIGRTMIN + 7) from
// construction to destruction. REQUIRES: one object at a time in all of spile, used by the thread that has made it.
class ThreadSeizure {
 public:
  ThreadSeizure();
  ~ThreadSeizure();
  ThreadSeizure(const ThreadSeizure&) = delete;
  ThreadSeizure& operator=(const ThreadSeizure&) = delete;

  // Seizes a thread with PTRACE_O_* options. Returns 0 or an errno. ETIMEDOUT: the call blocked for longer than `patience`;
  // receive the stops and ends of seized threads, then retry. Where the kernel gives no timer, the call may block without a
  // limit.
  int seize(pid_t tid, long options, std::chrono::milliseconds patience);

 private:
  void set_alarm(std::chrono::milliseconds interval) const;

  bool has_timer_ = false;
  timer_t timer_{};
  sigset_t own_{}, mask_{};
  struct sigaction before_{};
};

}  // namespace spile::engine
