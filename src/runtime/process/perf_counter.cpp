// @perf: what the kernel counts for the calling thread.

#include "abi/script_codes.h"
#include "runtime/core/core.h"

namespace spile::rt {

namespace {

inline constexpr long kUsageOfThread = 1;   // RUSAGE_THREAD
inline constexpr long kThreadCpuClock = 3;  // CLOCK_THREAD_CPUTIME_ID

// struct rusage of getrusage(2), on 64-bit machines.
struct Usage {
  int64_t times[4], sizes[4];
  int64_t minor_faults, major_faults, swaps, blocks[2], messages[2], signals;
  int64_t voluntary_switches, involuntary_switches;
};
static_assert(sizeof(Usage) == 144);

}  // namespace

extern "C" {

[[gnu::noinline]] int64_t spile_rt_perf_counter(Context*, uint32_t event) {
  if (!may_call_system()) return -1;
  if (event == abi::kCountTaskClock) return system_clock_ns(kThreadCpuClock);
  Usage usage;
  if (system_call(__NR_getrusage, kUsageOfThread, reinterpret_cast<long>(&usage)) < 0) return -1;
  switch (event) {
    case abi::kCountPageFaults: return usage.minor_faults + usage.major_faults;
    case abi::kCountContextSwitches: return usage.voluntary_switches + usage.involuntary_switches;
    case abi::kCountMinorFaults: return usage.minor_faults;
    default: return usage.major_faults;
  }
}

}  // extern "C"

}  // namespace spile::rt
