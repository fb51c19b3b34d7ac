// What processes ask of the system: spile syscalls, spile errno, spile files.

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include "base/embedded_text.h"
#include "engine/process/process_status.h"
#include "verbs/tasks/task_request.h"
#include "verbs/tasks/task_verbs.h"

SPILE_EMBEDDED_TEXT(spile_verb_syscalls)
SPILE_EMBEDDED_TEXT(spile_verb_errno)
SPILE_EMBEDDED_TEXT(spile_verb_files)

namespace spile::verbs {

namespace {

// Returns what a descriptor of a process is open on; "": nothing, or that can't be known.
std::string open_file(int64_t process, const std::string& descriptor) {
  std::array<char, PATH_MAX> name;
  const ssize_t size = readlink(fmt::format("/proc/{}/fd/{}", process, descriptor).c_str(), name.data(), name.size());
  return size > 0 ? std::string(name.data(), static_cast<size_t>(size)) : std::string();
}

// The files that the processes of -x, and their children, have open: a name for each process and descriptor.
using OpenFiles = std::map<std::pair<int64_t, int64_t>, std::string>;
OpenFiles open_files(const session::TargetOptions& target) {
  OpenFiles files;
  std::vector<pid_t> processes = target.processes;
  std::set<pid_t> seen;
  while (!processes.empty()) {
    const pid_t process = processes.back();
    processes.pop_back();
    if (!seen.insert(process).second) continue;
    for (const pid_t child : target.children ? engine::children_of(process) : std::vector<pid_t>()) processes.push_back(child);
    std::error_code error;
    for (std::filesystem::directory_iterator at(fmt::format("/proc/{}/fd", process), error), end; !error && at != end;
         at.increment(error)) {
      const std::string descriptor = at->path().filename();
      files[{process, std::strtoll(descriptor.c_str(), nullptr, 10)}] = open_file(process, descriptor);
    }
  }
  return files;
}

}  // namespace

Result<VerbScript> make_syscalls(const VerbLine& line, const session::Options& options) {
  TRY(const TaskRequest request, parse_task("syscalls", line, options, false, "spile syscalls -x PID"));
  TableRows::Settings settings{{{"call", "call", Unit::kText},
                                {"calls", "calls", Unit::kCount},
                                {"errors", "errors", Unit::kCount},
                                {"total", "total_ns", Unit::kTime},
                                {"avg", "avg_ns", Unit::kTime},
                                {"p99", "p99_ns", Unit::kTime},
                                {"max", "max_ns", Unit::kTime}}};
  TRY(settings.sort_by, sort_column(request, settings.columns, 3));
  settings.empty = "no system call has returned";
  return table_script(request, options, task_script(spile_verb_syscalls(), request), std::move(settings));
}

Result<VerbScript> make_errno(const VerbLine& line, const session::Options& options) {
  TRY(const TaskRequest request, parse_task("errno", line, options, false, "spile errno -x PID"));
  TableRows::Settings settings{{{"call", "call", Unit::kText},
                                {"error", "error", Unit::kText},
                                {"count", "count", Unit::kCount},
                                {"meaning", "meaning", Unit::kText},
                                {"first caller", "stack", Unit::kStack}}};
  TRY(settings.sort_by, sort_column(request, settings.columns, 2));
  settings.empty = "no system call has failed";
  settings.complete = [](std::vector<Cell>& row) {
    row[3] = std::string(strerror(static_cast<int>(std::strtol(std::get<std::string>(row[3]).c_str(), nullptr, 10))));
  };
  return table_script(request, options, task_script(spile_verb_errno(), request), std::move(settings), {"MAXSTRINGLEN=4096"});
}

Result<VerbScript> make_files(const VerbLine& line, const session::Options& options) {
  TRY(const TaskRequest request, parse_task("files", line, options, false, "spile files -x PID"));
  TableRows::Settings settings{{{"pid", "pid", Unit::kId},
                                {"file", "file", Unit::kText},
                                {"opens", "opens", Unit::kCount},
                                {"reads", "reads", Unit::kCount},
                                {"read", "read_bytes", Unit::kBytes},
                                {"writes", "writes", Unit::kCount},
                                {"written", "written_bytes", Unit::kBytes},
                                {"time", "time_ns", Unit::kTime}}};
  TRY(settings.sort_by, sort_column(request, settings.columns, 7));
  settings.empty = "no file was used";
  settings.merges = true;  // a descriptor before and after it was closed, without a name
  // The script knows files by their names at open(2); others by a newline, how often the descriptor was closed before (2: or more
  // often), the descriptor, and how often it was closed by now: what is open there now has a use that came after the last close,
  // and what was at the begin one that came before all.
  settings.complete = [files = open_files(options.target)](std::vector<Cell>& row) mutable {
    auto& name = std::get<std::string>(row[1]);
    if (!name.starts_with('\n')) return;
    int64_t before = 0, descriptor = 0, by_now = 0;
    if (sscanf(name.c_str(), "\n%" SCNd64 " %" SCNd64 " %" SCNd64, &before, &descriptor, &by_now) != 3) return;
    const std::string number = std::to_string(descriptor);
    const std::pair key{std::get<int64_t>(row[0]), descriptor};
    std::string shown;
    if (before == 0 && files.contains(key)) shown = files[key];
    else if (before == by_now && before < 2) shown = open_file(key.first, number);  // a socket, for example, that is still open
    if (before == 0 && !shown.empty()) files[key] = shown;
    name = shown.empty() ? "descriptor " + number : shown;
  };
  return table_script(request, options, task_script(spile_verb_files(), request), std::move(settings));
}

}  // namespace spile::verbs
