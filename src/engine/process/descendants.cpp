#include "engine/process/descendants.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/processes/proc.h"
#include "engine/process/process_status.h"

namespace spile::engine {

namespace {

// Whether the process runs spile, this one or another: tracers that stop each other would wait for ever.
bool is_spile(pid_t pid) {
  struct stat theirs, ours;
  return pid == getpid() || (stat(fmt::format("/proc/{}/exe", pid).c_str(), &theirs) == 0 && stat("/proc/self/exe", &ours) == 0 &&
                             theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino);
}

// Whether all threads have ended: after the end of the first one, others may run.
bool has_no_thread(pid_t pid) {
  std::vector<pid_t> threads = threads_of(pid);
  return std::all_of(threads.begin(), threads.end(), is_ending);
}

}  // namespace

Descendants attach_to_descendants(const DescendantSearch& search) {
  Descendants found;
  std::vector<pid_t> roots = search.traced();
  const std::set<pid_t> given(roots.begin(), roots.end());
  std::set<pid_t> refused;
  constexpr int kMostRounds = 1000;  // a program may fork and end for ever
  bool more = true;
  for (int round = 0; more && round < kMostRounds; round++) {
    more = false;
    for (pid_t parent : search.traced()) {
      for (pid_t child : children_of(parent)) {
        if (is_spile(child) || refused.contains(child) || search.is_traced(child)) continue;
        // A zombie, of those that were traced from their birth perhaps. If not, its parent was attached to in this round or the
        // last one, and there is one more in which its orphans are found.
        if (has_no_thread(child)) continue;
        auto attached = search.attach(child);
        bool gone = !attached.ok() && has_no_thread(child);
        // Its children may be children of another traced process now.
        if (attached.ok() || gone) more = true;
        if (attached.ok() || search.is_traced(child)) continue;
        refused.insert(child);
        if (!gone) found.refused.push_back(std::move(attached).error());
      }
    }
  }
  for (pid_t pid : search.traced()) {
    if (!given.contains(pid)) found.traced.push_back(pid);
  }
  return found;
}

}  // namespace spile::engine
