#include "session/invocation/pass_timer.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/print.h"

namespace spile::session {

namespace {

int64_t real_us() { return monotonic_ns() / 1000; }

int64_t in_us(const timeval& time) { return time.tv_sec * 1'000'000LL + time.tv_usec; }

// "115368virt/92672res/7680shr/84968data kb", from /proc/self/statm (pages).
std::string memory_text() {
  long total = 0, resident = 0, shared = 0, text = 0, library = 0, data = 0;
  if (FILE* file = fopen("/proc/self/statm", "re")) {
    if (fscanf(file, "%ld %ld %ld %ld %ld %ld", &total, &resident, &shared, &text, &library, &data) != 6) total = 0;
    fclose(file);
  }
  long kb = sysconf(_SC_PAGESIZE) / 1024;
  return fmt::format("{}virt/{}res/{}shr/{}data kb", total * kb, resident * kb, shared * kb, data * kb);
}

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
  std::string memory = pass_ < 5 ? fmt::format(" using {},", memory_text()) : std::string();
  print_to(stderr, "Pass {}: {}{} in {}usr/{}sys/{}real ms.\n", pass_, what, memory,
           (in_us(usage.ru_utime) - user_us_ + 500) / 1000, (in_us(usage.ru_stime) - system_us_ + 500) / 1000,
           (real_us() - real_us_ + 500) / 1000);
}

}  // namespace spile::session
