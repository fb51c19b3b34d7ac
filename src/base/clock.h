#pragma once
// Time that is never set, in nanoseconds (CLOCK_MONOTONIC: it stands still while the machine sleeps).

#include <time.h>

#include <cstdint>

namespace spile {

// Returns ns since an unspecified moment: only differences mean anything. Any thread may call it.
inline int64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// What CLOCK_REALTIME is ahead of CLOCK_MONOTONIC now, in ns.
inline int64_t realtime_offset_ns() {
  timespec real{}, monotonic{};
  clock_gettime(CLOCK_REALTIME, &real);
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  return (real.tv_sec - monotonic.tv_sec) * 1'000'000'000LL + real.tv_nsec - monotonic.tv_nsec;
}

}  // namespace spile
