#include "debuginfo/files/side_threads.h"

#include <sched.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "base/processes/threads.h"

namespace spile::debuginfo {

size_t count_processors() {
  constexpr size_t kMost = 8;
  cpu_set_t usable;
  const int count = sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 1;
  return std::clamp<size_t>(static_cast<size_t>(count), 1, kMost);
}

void work_together(size_t threads, const std::function<void()>& work) {
  std::vector<std::jthread> others;
  // The threads that there are do it.
  for (std::jthread next; others.size() + 1 < threads && try_to_start(next, work);) others.push_back(std::move(next));
  work();
  others.clear();  // joins them
}

}  // namespace spile::debuginfo
