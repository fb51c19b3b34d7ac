#include "debuginfo/files/side_threads.h"

#include <sched.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

#include "base/processes/signal_mask.h"

namespace spile::debuginfo {

size_t count_processors() {
  constexpr size_t kMost = 8;
  cpu_set_t usable;
  const int count = sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 1;
  return std::clamp<size_t>(static_cast<size_t>(count), 1, kMost);
}

void work_together(size_t threads, const std::function<void()>& work) {
  std::vector<std::jthread> others;
  try {
    const SignalsBlocked blocked;
    while (others.size() + 1 < threads) others.emplace_back(work);
  } catch (const std::system_error&) {
    // The threads that there are do it.
  }
  work();
  others.clear();  // joins them
}

}  // namespace spile::debuginfo
