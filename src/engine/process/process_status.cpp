#include "engine/process/process_status.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/proc.h"
#include "base/unique_fd.h"

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

bool is_ending(pid_t tid) {
  char path[1];
  return has_ended(tid) || (readlink(fmt::format("/proc/{}/exe", tid).c_str(), path, sizeof path) < 0 && errno == ENOENT);
}

pid_t tracer_of(pid_t tid) { return atoi(process_status(tid, "TracerPid").c_str()); }

pid_t innermost_number(pid_t tid) {
  std::istringstream numbers(process_status(tid, "NSpid"));
  pid_t number = tid;
  while (numbers >> number) {
  }
  return number;
}

namespace {

// Returns a field of /proc/PID/stat, as proc(5) counts them from 1; the second one may have blanks and brackets. Empty: no such
// process.
std::string stat_field(pid_t pid, int number) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  size_t at = line.rfind(')');
  for (int field = 2; field < number && at != std::string::npos; field++) at = line.find(' ', at + 1);
  return at == std::string::npos ? "" : line.substr(at + 1, line.find(' ', at + 1) - at - 1);
}

}  // namespace

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

ProcessStatus ProcessStatus::read(pid_t tid) {
  ProcessStatus status;
  UniqueFd file(open(fmt::format("/proc/{}/status", tid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return status;
  char part[4096];
  for (ssize_t got; (got = ::read(file.get(), part, sizeof part)) > 0;) status.text_.append(part, static_cast<size_t>(got));
  return status;
}

std::string ProcessStatus::field(std::string_view name) const {
  for (size_t line = 0; line < text_.size();) {
    size_t end = std::min(text_.find('\n', line), text_.size());
    std::string_view text(text_.data() + line, end - line);
    line = end + 1;
    if (!text.starts_with(name) || text.size() == name.size() || text[name.size()] != ':') continue;
    size_t begin = text.find_first_not_of(" \t", name.size() + 1);
    return begin == std::string_view::npos ? "" : std::string(text.substr(begin));
  }
  return "";
}

bool ProcessStatus::has_seccomp_filter() const {
  std::string mode = field("Seccomp");
  return !mode.empty() && mode != "0";
}

}  // namespace spile::engine
