#include "verbs/terms/processes.h"

#include <fmt/format.h>

#include <set>

#include "base/proc.h"
#include "engine/process/process_status.h"

namespace spile::verbs {

namespace {

// The threads of the processes and, with_children, of all their descendants, as far as the kernel lists these
// (CONFIG_PROC_CHILDREN).
std::set<pid_t> threads_of_all(std::vector<pid_t> processes, bool with_children) {
  std::set<pid_t> all;
  while (!processes.empty()) {
    const pid_t process = processes.back();
    processes.pop_back();
    if (!all.insert(process).second) continue;
    for (const pid_t thread : threads_of(process)) all.insert(thread);
    if (!with_children) continue;
    for (const pid_t child : engine::children_of(process)) processes.push_back(child);
  }
  return all;
}

}  // namespace

Processes processes_of(const session::TargetOptions& target) {
  Processes processes;
  processes.only_these = !target.command.empty() || !target.processes.empty();
  const std::set<pid_t> all = threads_of_all(target.processes, target.children);
  processes.running.assign(all.begin(), all.end());
  return processes;
}

std::string probes_of(const Processes& processes, const std::string& lost) {
  std::string begin;
  for (const pid_t pid : processes.running) begin += fmt::format("  ours[{}] = 1\n", pid);
  if (begin.empty()) begin = "  ours[target()] = 1\n";
  return fmt::format(
      "probe begin {{\n{}}}\n"
      R"(probe kernel.trace("sched:sched_process_fork") {{
  if (!(pid() in ours)) next
  try {{ ours[$child_pid] = 1 }} catch {{ {}++ }}
}}
probe kernel.trace("sched:sched_process_exit") {{
  if (tid() != pid() && tid() in ours) delete ours[tid()]
}}
)",
      begin, lost);
}

std::string thread_probes_of(const Processes& processes, const std::string& lost) {
  std::string begin;
  for (const pid_t tid : processes.running) begin += fmt::format("  mine[{}] = 1\n", tid);
  if (begin.empty()) begin = "  mine[target()] = 1\n";
  return "probe begin {\n" + begin + R"(}
probe kernel.trace("sched:sched_process_fork") {
  if (!(tid() in mine)) next
  try { born[$child_pid] = 1 } catch { )" +
         lost + R"(++ }
}
probe kernel.function("schedule_tail") {
  if (!(tid() in born)) next
  delete born[tid()]
  try { mine[tid()] = 1 } catch { )" +
         lost + R"(++ }
}
probe kernel.trace("sched:sched_process_exit") {
  if (tid() in mine) delete mine[tid()]
}
)";
}

}  // namespace spile::verbs
