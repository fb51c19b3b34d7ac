#pragma once
// Which processes descend from those that are traced, and attaching to them one by one, while they fork.
//
// A child is either forked before all threads of its parent are traced, and then /proc lists it afterwards, or is traced
// from its birth. So the lists are read again until a whole round has found nothing.

#include <functional>
#include <vector>

#include "engine/terms/event.h"

namespace spile::engine {

// What the search asks its caller. REQUIRES: no member is empty.
struct DescendantSearch {
  std::function<std::vector<pid_t>()> traced;  // the processes that are traced at the time of the call
  std::function<bool(pid_t)> is_traced;        // also one whose birth has not been reported yet
  std::function<Result<void>(pid_t)> attach;   // after it has succeeded, `traced` has the process
};

// Attaches to all descendants of the processes that are traced at the begin, except processes that run this spile's program.
// Returns the processes that have become traced meanwhile, and an error for each living one that could not be attached to. Gives
// up after 1,000 rounds.
Descendants attach_to_descendants(const DescendantSearch& search);

}  // namespace spile::engine
