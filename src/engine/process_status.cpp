#include "engine/process_status.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/unique_fd.h"

namespace spile::engine {

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> tids;
  DIR* directory = opendir(fmt::format("/proc/{}/task", pid).c_str());
  if (!directory) return tids;
  while (dirent* entry = readdir(directory)) {
    if (pid_t tid = atoi(entry->d_name)) tids.push_back(tid);
  }
  closedir(directory);
  return tids;
}

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

pid_t tracer_of(pid_t tid) { return atoi(process_status(tid, "TracerPid").c_str()); }

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
