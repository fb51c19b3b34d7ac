#pragma once
// Threads that help with reading debug information. They block all signals, which are for the main thread. Any thread.

#include <cstddef>
#include <functional>

namespace spile::debuginfo {

// Returns how many threads can run at the same time: the processors that this process may use, at most eight.
size_t count_processors();

// Calls work() in this thread and in up to `threads` - 1 others, fewer where no more threads can be had. Returns when all calls
// have returned.
void work_together(size_t threads, const std::function<void()>& work);

}  // namespace spile::debuginfo
