#pragma once
// PTRACE_SEIZE of a thread whose process may be executing a program. The kernel lets nobody seize a thread while another one of its process
// is within execve(2), and lets that one go on only when all others have ended: traced ones, when their tracer has seen it. So a tracer
// that has seized some of them must not wait for one more.

#include <signal.h>
#include <sys/types.h>
#include <time.h>

#include <chrono>

namespace spile::engine {

// For the threads of one process, by one thread of ours, which takes a real-time signal for as long as this lives.
class ThreadSeizure {
 public:
  ThreadSeizure();
  ~ThreadSeizure();
  ThreadSeizure(const ThreadSeizure&) = delete;
  ThreadSeizure& operator=(const ThreadSeizure&) = delete;

  // 0, or an errno. ETIMEDOUT: it waits longer than that; what other threads have to say is to be received, and it may be tried again.
  int seize(pid_t tid, long options, std::chrono::milliseconds patience);

 private:
  void set_alarm(std::chrono::milliseconds interval) const;

  bool has_timer_ = false;
  timer_t timer_{};
  sigset_t own_{}, mask_{};
  struct sigaction before_ {};
};

}  // namespace spile::engine
