#pragma once
// Calls of one thread that have been noted one by one (abi/call_history.h), put into each other: which call was within which.
//
// The times of calls on one stack nest; where those of two calls cross, they ran on two stacks (coroutines), and the same holds
// where the stack pointer says so. Calls of each further stack get a track of their own, so that no call is shown within one that
// is not around it. Thread rule: one thread.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runs/timeline/timeline.h"

namespace spile::runs {

struct NotedCall {
  uint64_t begun = 0, ended = 0;  // ticks of one clock
  uint64_t stack = 0;             // CFA
  uint32_t name = 0;              // number of a text of the timeline
  bool runs = false;              // it had not ended when the noting was stopped, at `ended`
};
struct NotedThread {
  int64_t process = 0, thread = 0;
  std::string process_name, name;
};

// Adds the calls to the timeline. from: tick before which nothing is shown; a call that began before is cut off there, and says
// how long before it began. time_of: converts ticks to the timeline's ns. The calls may come from anywhere: those with ended <
// begun, or ended < from, are left out. Returns the number of slices added.
uint64_t add_noted_calls(Timeline& timeline, const NotedThread& thread, std::vector<NotedCall> calls, uint64_t from,
                         const std::function<int64_t(uint64_t)>& time_of);

}  // namespace spile::runs
