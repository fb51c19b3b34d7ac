#pragma once
// The processes that the user names: -c's command, or those of -x, with the workload beside them. Starts or attaches to them, and
// knows when all have ended.
// Thread rule: one thread, that of the engine.

#include <optional>
#include <set>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/engine.h"
#include "session/terms/options.h"

namespace spile::session {

class GivenProcesses {
 public:
  // Both must outlive this.
  GivenProcesses(const TargetOptions& options, const MessageOptions& messages) : options_(options), messages_(messages) {}

  // Starts -c's command, standing still (before_exec: before its execution), or attaches to -x's processes and (without
  // --no-children) their children; the latter only if `attaches`. Returns first(). Children that can't be attached to are a
  // warning. Errors: the command can't be started, a process of -x can't be attached to.
  Result<pid_t> acquire(engine::Engine& engine, bool before_exec, bool attaches);

  // Returns the command or the first process of -x; 0 without both.
  pid_t first() const { return first_; }
  // Returns those that live.
  const std::set<pid_t>& living() const { return living_; }
  bool is_command() const { return !options_.command.empty(); }

  // Notes that the command runs, or is to run. One that never does has not begun, and must not.
  void note_resumed() { resumed_ = true; }
  // Starts the workload, if there is one. Error: it can't be started.
  Result<void> start_workload();
  // Kills a command that was never resumed.
  void kill_unstarted();
  // Notes that the session has ended: it does not wait for the command's status.
  void note_detached() { detached_ = true; }

  // Notes the end of a process. status: as waitpid(2) has it. Returns whether the user has named the process.
  bool note_end(pid_t pid, int status);
  // Looks which processes have ended that nothing is attached to.
  void look();
  // Returns whether all have ended, or the workload, as far as note_end() and look() know.
  bool finished() const { return finished_; }
  // Returns the status of -c's command or the workload as waitpid(2) has it; null: it has not ended, or no -c was given.
  std::optional<int> command_status() const { return command_status_; }

 private:
  Result<void> attach_all(engine::Engine& engine);
  // Returns the processes of -x that have ended before they could be attached to.
  Result<std::vector<pid_t>> attach_named(engine::Engine& engine);
  void attach_children(engine::Engine& engine);
  void watch();

  const TargetOptions& options_;
  const MessageOptions& messages_;
  pid_t first_ = 0;
  std::set<pid_t> living_;
  std::vector<UniqueFd> watched_;  // pidfds of the processes of -x that run, where nothing is attached to
  pid_t workload_ = 0;             // that runs; 0: none
  bool resumed_ = false;
  bool detached_ = false;
  bool finished_ = false;
  std::optional<int> command_status_;
};

}  // namespace spile::session
