#pragma once
// Tells the handlers in the kernel that are for traced processes alone (sema::ResolvedPoint::of_processes) which these are: as
// the engine reports births, executions and ends, while the thread in question stands still, so that nothing runs before it is
// known. Thread rule: one thread.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "sema/terms/program.h"
#include "session/places/kernel_side.h"

namespace spile::session {

class KernelTargets {
 public:
  // Looks for such probes; program is not kept.
  explicit KernelTargets(const sema::Program& program);

  // Returns whether the script has such probes; without them, the functions below do nothing.
  bool follows() const { return follows_; }
  // Adds the processes and all of their threads, and later those that on_change() reports. kernel must outlive this, or stop()
  // must be called before. Error: a probe's event can't be counted.
  Result<void> start(KernelSide& kernel, const std::vector<pid_t>& processes);
  // REQUIRES: called from within the engine, while the thread stands still.
  void on_change(const engine::ThreadChange& change);
  // Adds threads of these processes, which on_change() may not have reported.
  void catch_up(const std::vector<pid_t>& processes);
  void stop() { kernel_ = nullptr; }

 private:
  Result<void> add(pid_t pid);
  Result<void> follow(pid_t pid, pid_t tid, const std::string& program);
  void unfollow(pid_t pid);
  void after_execution(pid_t pid);
  // Prints the first error as a warning.
  void warn(const Result<void>& outcome);

  bool follows_ = false;
  bool warned_ = false;
  KernelSide* kernel_ = nullptr;              // while handlers may run
  std::map<pid_t, std::set<pid_t>> threads_;  // that are followed, by process
};

}  // namespace spile::session
