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

#include "engine/process/process_status.h"
#include "verbs/tasks/task_request.h"
#include "verbs/tasks/task_verbs.h"

namespace spile::verbs {

namespace {

constexpr const char* kElapsed = "gettimeofday_ns() - @entry(gettimeofday_ns())";

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

// What reads and writes, and by which argument they know the file.
constexpr const char* kReads[] = {"read", "pread", "readv", "preadv", "preadv2", "recvfrom", "recvmsg", "getdents"};
constexpr const char* kWrites[] = {"write", "pwrite", "writev", "pwritev", "pwritev2", "sendto", "sendmsg"};

template <size_t N>
std::string calls_of(const char* const (&names)[N]) {
  std::string text;
  for (const char* name : names) text += fmt::format("{}syscall.{}.return", text.empty() ? "" : ", ", name);
  return text;
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
  return table_script(request, options,
                      task_script(request, "global calls[1024], failed[1024]",
                                  fmt::format("probe process.syscall.return {{\n  calls[$syscall] <<< {}\n  if ($return < 0 && "
                                              "$return > -4096) failed[$syscall]++\n}}\n",
                                              kElapsed),
                                  "  foreach (number in calls)\n"
                                  "    printf(\"row %s %d %d %d %d %d %d\\n\", syscall_name(number), @count(calls[number]), "
                                  "failed[number], @sum(calls[number]), @avg(calls[number]),\n"
                                  "      @percentile(calls[number], 99), @max(calls[number]))\n",
                                  "  delete calls\n  delete failed\n"),
                      std::move(settings));
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
  return table_script(request, options,
                      task_script(request, "global failed[4096], callers[4096]",
                                  "probe process.syscall.return {\n  if ($return >= 0 || $return <= -4096) next\n"
                                  "  if (failed[$syscall, $return]++ == 0) callers[$syscall, $return] = sprint_ubacktrace()\n}\n",
                                  "  foreach ([number, error] in failed)\n"
                                  "    printf(\"row %s %s %d %s %s\\n\", syscall_name(number), errno_str(error), failed[number, "
                                  "error], sprint(-error), callers[number, error])\n",
                                  "  delete failed\n  delete callers\n"),
                      std::move(settings));
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
  std::string probes =
      "function opened(fd, address) {\n"
      "  if (fd < 0) return 0\n  name = user_string_n(address, 250, \"?\")\n" +
      tried("    path[pid(), fd] = name\n    opens[pid(), name]++\n") +
      "}\n"
      "probe syscall.openat.return {\n  opened(retval, $arg2)\n}\n"
      "probe syscall.open.return, syscall.creat.return {\n  opened(retval, $arg1)\n}\n"
      "probe syscall.close {\n  if ([pid(), $fd] in path) delete path[pid(), $fd]\n  else closed[pid(), $fd]++\n}\n"
      "function file:string(fd) {\n  if ([pid(), fd] in path) return path[pid(), fd]\n  return sprintf(\"\\n%d %d\", "
      "closed[pid(), fd] < 2 ? closed[pid(), fd] : 2, fd)\n}\n"
      "function shown:string(process, name) {\n  return substr(name, 0, 1) == \"\\n\" ? sprintf(\"%s %d\", name, closed[process, "
      "strtol(substr(name, 3, 10), 10)]) : name\n}\n";
  for (const auto& [calls, sizes] : {std::pair(calls_of(kReads), "bytes_read"), std::pair(calls_of(kWrites), "bytes_written")}) {
    probes += fmt::format(
        "probe {} {{\n  name = file($fd)\n  took = {}\n{}}}\n", calls, kElapsed,
        tried(fmt::format("    times[pid(), name] <<< took\n    {}[pid(), name] <<< retval > 0 ? retval : 0\n", sizes)));
  }
  return table_script(
      request, options,
      task_script(request,
                  "global path[16384], closed%[16384], opens[16384], bytes_read[16384], bytes_written[16384], times[16384]",
                  probes,
                  "  foreach ([process, name] in times)\n"
                  "    printf(\"row %d %s %d %d %d %d %d %d\\n\", process, shown(process, name), opens[process, name],\n"
                  "      [process, name] in bytes_read ? @count(bytes_read[process, name]) : 0, [process, name] in bytes_read ? "
                  "@sum(bytes_read[process, name]) : 0,\n"
                  "      [process, name] in bytes_written ? @count(bytes_written[process, name]) : 0, [process, name] in "
                  "bytes_written ? @sum(bytes_written[process, name]) : 0,\n"
                  "      @sum(times[process, name]))\n"
                  "  foreach ([process, name] in opens)\n"
                  "    if (!([process, name] in times)) printf(\"row %d %s %d %d %d %d %d %d\\n\", process, name, opens[process, "
                  "name], 0, 0, 0, 0, 0)\n",
                  "  delete opens\n  delete bytes_read\n  delete bytes_written\n  delete times\n",
                  "uses of files are not in the table, or without the file's name: there are more than 16384 files"),
      std::move(settings));
}

}  // namespace spile::verbs
