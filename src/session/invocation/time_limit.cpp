#include "session/invocation/time_limit.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <string>

namespace spile::session {

namespace {

std::string message;  // made before, as a signal handler can't

void end_program(int) {
  (void)!write(STDERR_FILENO, message.data(), message.size());
  _exit(1);
}

void set_timer(int64_t ns) {
  itimerval timer{};
  timer.it_value = {ns / 1'000'000'000, ns % 1'000'000'000 / 1000};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

void start_time_limit(int64_t limit_ns) {
  if (limit_ns <= 0) return;
  message = fmt::format(
      "ERROR: the {:g} s of -T ended before the script was compiled\n  hint: compiled code is cached: use a longer -T once, or "
      "run the same command with "
      "-p4 first, without -T\n",
      static_cast<double>(limit_ns) / 1e9);
  signal(SIGALRM, end_program);
  set_timer(limit_ns);
}

void compiled_in_time() {
  set_timer(0);
  signal(SIGALRM, SIG_DFL);
}

}  // namespace spile::session
