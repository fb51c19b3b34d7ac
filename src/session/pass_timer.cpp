#include "session/pass_timer.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

namespace spile::session {

namespace {

int64_t real_us() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000LL + time.tv_nsec / 1000;
}

int64_t in_us(const timeval& time) { return time.tv_sec * 1'000'000LL + time.tv_usec; }

}  // namespace

PassTimer::PassTimer(int pass, int verbosity) : pass_(pass), verbosity_(verbosity) {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  real_us_ = real_us();
  user_us_ = in_us(usage.ru_utime);
  system_us_ = in_us(usage.ru_stime);
}

void PassTimer::done(const std::string& what) const {
  if (verbosity_ == 0) return;
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(stderr, "Pass {}: {} using {}kb, in {}usr/{}sys/{}real ms.\n", pass_, what, usage.ru_maxrss,
             (in_us(usage.ru_utime) - user_us_ + 500) / 1000, (in_us(usage.ru_stime) - system_us_ + 500) / 1000,
             (real_us() - real_us_ + 500) / 1000);
}

}  // namespace spile::session
