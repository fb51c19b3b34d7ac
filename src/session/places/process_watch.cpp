#include "session/places/process_watch.h"

#include <dirent.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "abi/stack_tables.h"
#include "base/files/elf_identity.h"
#include "base/processes/proc.h"

namespace spile::session {

namespace {

using sema::ProbeKind;

// Whether a system call may change what describe_thread() finds.
bool changes_identity(uint64_t number) {
  switch (number) {
    case SYS_setuid:
    case SYS_setgid:
    case SYS_setreuid:
    case SYS_setregid:
    case SYS_setresuid:
    case SYS_setresgid:
    case SYS_prctl:
    case SYS_execve:
    case SYS_execveat: return true;
    default: return false;
  }
}

}  // namespace

std::string program_of(pid_t pid) {
  char path[4096];
  std::string link = fmt::format("/proc/{}/exe", pid);
  ssize_t length = readlink(link.c_str(), path, sizeof path);
  struct stat program;
  if (length <= 0) return "";
  return without_deleted(std::string(path, static_cast<size_t>(length)), stat(link.c_str(), &program) == 0 ? program.st_ino : 0);
}

void describe_thread(abi::Subject& subject, pid_t pid, pid_t tid) {
  subject.active = 1;
  subject.pid = pid;
  subject.tid = tid;
  std::ifstream file(fmt::format("/proc/{}/task/{}/status", pid, tid));
  for (std::string line; std::getline(file, line);) {
    size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string field = line.substr(0, colon);
    const char* value = line.c_str() + colon + 1 + strspn(line.c_str() + colon + 1, " \t");
    char* rest = nullptr;
    if (field == "Name") {
      std::memset(subject.execname, 0, sizeof subject.execname);
      std::strncpy(subject.execname, value, sizeof subject.execname - 1);
    } else if (field == "PPid") {
      subject.ppid = std::strtol(value, nullptr, 10);
    } else if (field == "Uid") {
      subject.uid = std::strtol(value, &rest, 10);
      subject.euid = std::strtol(rest, nullptr, 10);
    } else if (field == "Gid") {
      subject.gid = std::strtol(value, &rest, 10);
      subject.egid = std::strtol(rest, nullptr, 10);
    } else if (field == "NStgid" || field == "NSpid") {
      // From the outermost namespace to its own.
      int64_t number = 0;
      for (std::istringstream numbers(value); numbers >> number;) {
      }
      (field == "NSpid" ? subject.inner_tid : subject.inner_pid) = number;
      if (field == "NSpid") return;
    }
  }
}

ProcessWatch::ProcessWatch(const sema::Program& program, Run run) : run_(std::move(run)) {
  for (const sema::Probe& probe : program.probes) {
    if (sema::info(probe.kind).source != sema::Source::kWatch || probe.domain != sema::Domain::kController) continue;
    for (size_t i = 0; i < probe.points.size(); ++i) {
      const sema::ResolvedPoint& point = probe.points[i];
      // The handler finds its point by the call's number.
      if (i > 0 && sema::is_for_some_calls(probe)) break;
      points_.push_back({probe.kind, probe.index, i, point.site.module, point.process});
    }
  }
}

bool ProcessWatch::watches_system_calls() const {
  for (const Point& point : points_) {
    if (sema::is_system_call(point.kind)) return true;
  }
  return false;
}

bool ProcessWatch::is_for(const Point& point, pid_t pid, const std::string& program) {
  return (point.process == 0 || point.process == pid) &&
         (point.program.empty() || fnmatch(point.program.c_str(), program.c_str(), 0) == 0);
}

engine::CallProbes ProcessWatch::call_probes_of(pid_t pid) const {
  std::string program = program_of(pid);
  size_t of_calls = 0, concerned = 0;
  for (const Point& point : points_) {
    if (!sema::is_system_call(point.kind)) continue;
    of_calls++;
    concerned += is_for(point, pid, program);
  }
  if (concerned == of_calls) return engine::CallProbes::kAll;
  return concerned == 0 ? engine::CallProbes::kNone : engine::CallProbes::kSome;
}

void ProcessWatch::run(ProbeKind kind, const Known& known, const abi::Subject& subject) {
  for (const Point& point : points_) {
    if (!running_) return;
    if (point.kind != kind || !is_for(point, static_cast<pid_t>(subject.pid), known.program)) continue;
    run_(point.probe, point.index, subject);
  }
}

void ProcessWatch::add(pid_t pid) {
  Known& known = known_[pid];
  known = {};
  describe_thread(known.subject, pid, pid);
  known.program = program_of(pid);
  run(ProbeKind::kProcessBegin, known, known.subject);
}

void ProcessWatch::start(const std::vector<pid_t>& processes) {
  running_ = true;
  for (pid_t pid : processes) {
    add(pid);
    Known& known = known_[pid];
    for (pid_t tid : threads_of(pid)) {
      if (tid == pid) continue;
      if (!known.threads.insert(tid).second) continue;
      abi::Subject subject = known.subject;
      describe_thread(subject, pid, tid);
      run(ProbeKind::kThreadBegin, known, subject);
    }
  }
}

void ProcessWatch::end_threads(Known& known) {
  for (pid_t tid : std::exchange(known.threads, {})) {
    abi::Subject subject = known.subject;
    subject.tid = tid;
    subject.is_past = 1;
    run(ProbeKind::kThreadEnd, known, subject);
  }
}

void ProcessWatch::run_end(const Known& known) {
  abi::Subject subject = known.subject;
  subject.is_past = 1;
  run(ProbeKind::kProcessEnd, known, subject);
}

void ProcessWatch::on_change(const engine::ThreadChange& change) {
  if (!running_) return;
  using Kind = engine::ThreadChange::Kind;
  if (change.kind == Kind::kProcessBorn) return add(change.pid);
  auto found = known_.find(change.pid);
  if (found == known_.end()) return;
  Known& known = found->second;
  abi::Subject subject = known.subject;
  switch (change.kind) {
    case Kind::kProcessBorn: return;
    case Kind::kExecuted:
      end_threads(known);
      run_end(known);
      return add(change.pid);
    case Kind::kThreadBorn:
      if (!known.threads.insert(change.tid).second) return;
      describe_thread(subject, change.pid, change.tid);
      return run(ProbeKind::kThreadBegin, known, subject);
    case Kind::kThreadEnding:
      describe_thread(subject, change.pid, change.tid);
      if (change.tid == change.pid) known.subject = subject;
      [[fallthrough]];
    case Kind::kThreadEnded:
      subject.tid = change.tid;
      if (change.kind == Kind::kThreadEnded) subject.is_past = 1;
      if (known.threads.erase(change.tid) > 0) run(ProbeKind::kThreadEnd, known, subject);
      return;
    case Kind::kProcessEnded:
      end_threads(known);
      run_end(known);
      known_.erase(change.pid);
      return;
    case Kind::kSystemCall:
    case Kind::kSystemCallReturn: {
      auto [caller, added] = known.callers.try_emplace(change.tid, subject);
      if (added) describe_thread(caller->second, change.pid, change.tid);
      subject = caller->second;
      static_assert(sizeof subject.registers == sizeof change.registers);
      std::memcpy(subject.registers, &change.registers, sizeof subject.registers);
      subject.frame_kind = abi::kFrameInside;
      bool enters = change.kind == Kind::kSystemCall;
      if (!enters && changes_identity(change.registers.site_id)) known.callers.clear();
      return run(enters ? ProbeKind::kSystemCall : ProbeKind::kSystemCallReturn, known, subject);
    }
  }
}

}  // namespace spile::session
