#include "engine/process/process_status.h"

#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/processes/proc.h"

namespace spile::engine {

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  for (pid_t tid : threads_of(pid)) {
    std::ifstream file(fmt::format("/proc/{}/task/{}/children", pid, tid));
    for (pid_t child; file >> child;) children.push_back(child);
  }
  return children;
}

bool has_ended(pid_t tid) {
  std::string state = process_status(tid, "State");
  return state.empty() || state[0] == 'Z' || state[0] == 'X';
}

bool is_sleeping(pid_t tid) { return process_status(tid, "State").starts_with('S'); }

bool is_ending(pid_t tid) { return has_ended(tid) || (program_of(tid).empty() && errno == ENOENT); }

pid_t tracer_of(pid_t tid) { return atoi(process_status(tid, "TracerPid").c_str()); }

pid_t innermost_number(pid_t tid) {
  std::istringstream numbers(process_status(tid, "NSpid"));
  pid_t number = tid;
  while (numbers >> number) {
  }
  return number;
}

uint64_t start_time(pid_t pid) { return strtoull(stat_field(pid, 22).c_str(), nullptr, 10); }

ProgramRun ProgramRun::of(pid_t pid) {
  ProgramRun run;
  run.code_ = stat_field(pid, 26);
  run.stack_ = stat_field(pid, 28);
  return run;
}

namespace {

// Not while a thread other than the first executes a program: until that thread has the first one's number, the first is a
// zombie, but not alone. A look takes time in which such a program can come to its next execve, so one look is not enough.
bool has_process_ended(pid_t pid) {
  constexpr int kLooks = 4;
  for (int look = 0; look < kLooks; look++) {
    if (!has_ended(pid)) return false;
    std::vector<pid_t> threads = threads_of(pid);
    if (std::any_of(threads.begin(), threads.end(), [&](pid_t tid) { return tid != pid; })) return false;
  }
  return true;
}

}  // namespace

bool ProgramRun::has_changed(pid_t pid) const {
  if (has_process_ended(pid)) return false;
  // A first thread that has ended has no memory, and so no addresses.
  ProgramRun now = of(pid);
  bool unknown = now.code_.empty() || now.code_ == "0";
  return unknown || now.code_ != code_ || now.stack_ != stack_;
}

}  // namespace spile::engine
