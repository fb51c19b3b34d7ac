#include "session/time_limit.h"

#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

namespace spile::session {

namespace {

int64_t start_ns = 0;

void end_program(int) {
  static const char kMessage[] = "ERROR: the time of -T was over before the script was compiled\n  hint: -T counts from the start of spile\n";
  (void)!write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  _exit(1);
}

void set_timer(int64_t ns) {
  itimerval timer{};
  timer.it_value = {ns / 1'000'000'000, ns % 1'000'000'000 / 1000};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

void start_time_limit(int64_t limit_ns) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  start_ns = now.tv_sec * 1'000'000'000LL + now.tv_nsec;
  if (limit_ns <= 0) return;
  signal(SIGALRM, end_program);
  set_timer(limit_ns);
}

void compiled_in_time() {
  set_timer(0);
  signal(SIGALRM, SIG_DFL);
}

int64_t time_limit_start() { return start_ns; }

}  // namespace spile::session
