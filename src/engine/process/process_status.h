#pragma once
// What /proc says about the state of processes and threads (proc(5)).

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/processes/proc.h"

namespace spile::engine {

using spile::process_status;
using spile::ProcessStatus;

// All functions may be called from any thread, for processes that are traced or not.

// The children that /proc lists now, of all threads; empty for a process that has ended.
std::vector<pid_t> children_of(pid_t pid);
// Whether the thread has ended. True also for a zombie, so for the first thread of a process in which others still run.
bool has_ended(pid_t tid);
// Whether the thread waits in the kernel, and a signal would wake it (state S).
bool is_sleeping(pid_t tid);
// Whether the thread has ended, or its memory and files are gone. In the latter state it still traces its tracees.
bool is_ending(pid_t tid);
// The id of the thread that traces this one; 0: none does, or the thread has ended.
pid_t tracer_of(pid_t tid);

// Returns the number of a process or thread in its innermost pid namespace: the one by which processes of that namespace know it.
pid_t innermost_number(pid_t tid);

// When the process has started, in clock ticks since the machine has started; 0: no process has this number.
uint64_t start_time(pid_t pid);

// Identifies the program that a process runs: execve(2) changes it, also if the same file is executed again.
class ProgramRun {
 public:
  // Notes the program that the process runs now.
  static ProgramRun of(pid_t pid);
  // True if the process runs another program now, or if its first thread has ended and others live, as in an execve of one of
  // these. False if the process has ended.
  bool has_changed(pid_t pid) const;

 private:
  std::string code_, stack_;  // addresses of their first bytes
};

}  // namespace spile::engine
