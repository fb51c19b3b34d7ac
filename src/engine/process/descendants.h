#pragma once
// Which processes descend from those that are traced, and attaching to them one by one, while they fork.
//
// A child is either forked before all threads of its parent are traced, and then /proc lists it afterwards, or is traced
// from its birth. So the lists are read again until a whole round has found nothing.

#include <functional>
#include <vector>

#include "engine/terms/event.h"

namespace spile::engine {

struct DescendantSearch {
  std::function<std::vector<pid_t>()> traced;       // processes, now
  std::function<bool(pid_t)> is_traced;             // also one whose birth has not been reported yet
  std::function<Result<void>(pid_t)> attach;
};

// Attaches to all of them, except those that run spile.
Descendants attach_to_descendants(const DescendantSearch& search);

}  // namespace spile::engine
