#pragma once
// Lives of processes: how they come to be traced (launch, attach, birth, execve), what their threads are born with, and how they
// end or are handed over to another tracer. Belongs to the engine's thread.

#include <optional>
#include <set>

#include "engine/trace/launcher.h"
#include "engine/tracing_context.h"

namespace spile::engine {

class ProcessLives {
 public:
  explicit ProcessLives(const TracingContext& context)
      : options_(context.options),
        tracer_(context.tracer),
        calls_(context.calls),
        arming_(context.arming),
        reports_(context.reports),
        works_(context.works) {}

  // As in Engine; attach() alone does not look for another spile.
  Result<pid_t> launch(const LaunchOptions& options);
  Result<void> execute();
  Result<void> attach(pid_t pid);
  Descendants attach_descendants();
  void resume_all();
  std::vector<pid_t> processes() const;
  Result<std::vector<Module>> modules(pid_t pid);

  // As in TraceListener.
  void process_forked(Thread& parent, Process& child, const ProcessStatus& status, bool shares_memory);
  void process_executed(Process& process);
  void process_exited(Process& process, int status);
  void thread_born(Thread& parent, Thread& thread, const ProcessStatus& status);
  void thread_ending(Thread& thread);

  // Perform works of the kinds kFork and kExec: arm a child that was born, and a process that has executed a program, and let
  // them go on. A launched process stays until resume_all().
  void finish_fork(const DeferredWork& work);
  void finish_exec(const DeferredWork& work);
  // Lets go of a process that another program is about to trace. Takes out all that we have put into it, if its memory is its
  // own: a process that runs in the memory of others (vfork) soon executes another program. Does nothing if the process is not
  // traced. reason: Event::message of kReleased.
  void hand_over(pid_t pid, const std::string& reason);
  // Looks, at most every 50 ms, whether processes that were handed over have ended, and reports that: their tracer gets the
  // status, we don't.
  void look_after_handed_over();

 private:
  bool join_space(Process& process);
  void leave_space(Process& process);
  Result<void> attach_now(pid_t pid);
  Result<void> prepare_space(AddressSpace& space, pid_t pid);

  const EngineOptions& options_;
  Tracer& tracer_;
  CallWatch& calls_;
  Arming& arming_;
  EventReports& reports_;
  WorkQueue& works_;
  std::optional<Launcher> held_;            // launched, before its exec
  std::set<pid_t> waiting_;                 // launched, until resume_all
  std::set<pid_t> handed_over_;             // traced by another program now, and not our children
  Tracer::Clock::time_point looked_after_;  // when they were
};

}  // namespace spile::engine
