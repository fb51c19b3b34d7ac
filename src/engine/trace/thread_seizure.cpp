#include "engine/trace/thread_seizure.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

#include "engine/process/process_status.h"

namespace spile::engine {
namespace {

sigjmp_buf given_up;
volatile sig_atomic_t waits;

// Leaves the interrupted call by a jump, since the kernel would repeat it after a return (ERESTARTNOINTR).
void give_up(int) {
  if (waits) siglongjmp(given_up, 1);
}

int alarm_signal() { return SIGRTMIN + 7; }

}  // namespace

ThreadSeizure::ThreadSeizure() {
  struct sigaction action{};
  action.sa_handler = give_up;
  sigaction(alarm_signal(), &action, &before_);
  sigemptyset(&own_);
  sigaddset(&own_, alarm_signal());
  pthread_sigmask(SIG_UNBLOCK, &own_, &mask_);
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = alarm_signal();
  event._sigev_un._tid = gettid();
  has_timer_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
}

ThreadSeizure::~ThreadSeizure() {
  if (has_timer_) timer_delete(timer_);
  pthread_sigmask(SIG_BLOCK, &own_, nullptr);
  timespec none{};
  while (sigtimedwait(&own_, nullptr, &none) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  sigaction(alarm_signal(), &before_, nullptr);
}

// Sends the signal periodically, because the first one may come before the call waits. 0 stops it.
void ThreadSeizure::set_alarm(std::chrono::milliseconds interval) const {
  itimerspec when{};
  when.it_value.tv_sec = interval.count() / 1000;
  when.it_value.tv_nsec = interval.count() % 1000 * 1'000'000;
  when.it_interval = when.it_value;
  if (has_timer_) timer_settime(timer_, 0, &when, nullptr);
}

int ThreadSeizure::seize(pid_t tid, long options, std::chrono::milliseconds patience) {
  volatile int error = 0;
  if (sigsetjmp(given_up, 1) == 0) {
    waits = 1;
    set_alarm(patience);
    error = ptrace(PTRACE_SEIZE, tid, 0, options) == 0 ? 0 : errno;
  } else {
    error = tracer_of(tid) == gettid() ? 0 : ETIMEDOUT;  // the signal may have come right after the call succeeded
  }
  waits = 0;
  set_alarm(std::chrono::milliseconds(0));
  return error;
}

}  // namespace spile::engine
