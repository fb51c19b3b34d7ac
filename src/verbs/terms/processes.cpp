#include "verbs/terms/processes.h"

#include <fmt/format.h>

#include <set>

#include "base/processes/proc.h"
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

std::string statements_for(const Processes& processes, const std::string& array) {
  if (processes.running.empty()) return fmt::format("  {}[target()] = 1\n", array);
  std::string text;
  for (const pid_t thread : processes.running) text += fmt::format("  {}[{}] = 1\n", array, thread);
  return text;
}

}  // namespace spile::verbs
