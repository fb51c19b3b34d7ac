// Whether handlers that could run in processes, those of system calls and of timer.profile, ask for what the kernel alone has:
// its stack, its tasks, its types. Then they run there. What they ask for stands in the handler, in functions of the scripts that
// it calls, and in the bodies of the aliases that its points name.

#include <algorithm>
#include <set>
#include <string>

#include "probes/terms/probes.h"
#include "probes/world/traced_world.h"
#include "sema/names/alias_names.h"
#include "syntax/visitor.h"

namespace spile::probes {

namespace {

struct Asked {
  bool stack = false;  // the kernel's stack
  bool tasks = false;  // its tasks, and its types
};

// Whether a point is on system calls, which processes run handlers for as well as the kernel does.
bool is_call(const syntax::ProbePoint& point) {
  static const std::set<std::string> families = {"syscall", "nd_syscall", "dw_syscall", "tp_syscall"};
  const auto& parts = point.components;
  return !parts.empty() &&
         (families.contains(parts[0].name) || (parts.size() > 1 && parts[0].name == "process" && parts[1].name == "syscall"));
}

class Question {
 public:
  explicit Question(std::span<const syntax::Script> scripts) : scripts_(scripts) {}

  std::vector<const syntax::ProbePoint*> points;  // of all probes, and of the aliases that they name
  bool of_calls_stack = false, of_calls_tasks = false, of_profile = false;

  void look_at(const syntax::Probe& probe) {
    Asked asked;
    std::set<std::string> seen;
    if (probe.body) ask(*probe.body, seen, asked);
    for (const syntax::ProbePoint& point : probe.points) {
      std::vector<const syntax::Alias*> chain;
      look_at(point, asked, seen, chain);
    }
  }

 private:
  // asked, seen: what the handlers that run at the point have asked for so far, and the names that they call. chain: the aliases
  // on the way.
  void look_at(const syntax::ProbePoint& point, Asked asked, std::set<std::string> seen,
               std::vector<const syntax::Alias*>& chain) {
    points.push_back(&point);
    for (const syntax::Script& script : scripts_) {
      for (const auto& alias : script.aliases) {
        const bool names_it = std::ranges::any_of(
            alias->names, [&](const syntax::ProbePoint& name) { return sema::begins_with_alias(point, name); });
        if (alias->from_library || !names_it || std::ranges::count(chain, alias.get())) continue;
        Asked with_alias = asked;
        std::set<std::string> seen_there = seen;
        for (const syntax::Block* body : {alias->body.get(), alias->closing.get()}) {
          if (body) ask(*body, seen_there, with_alias);
        }
        chain.push_back(alias.get());
        for (const syntax::ProbePoint& meant : alias->points) look_at(meant, with_alias, seen_there, chain);
        chain.pop_back();
      }
    }
    of_profile |= is_profile(point) && (asked.stack || asked.tasks);
    of_calls_stack |= is_call(point) && asked.stack;
    of_calls_tasks |= is_call(point) && asked.tasks;
  }

  void ask(const syntax::Statement& body, std::set<std::string>& seen, Asked& asked) const {
    static const std::set<std::string> stack_functions = {"backtrace", "callers", "print_backtrace", "sprint_backtrace", "stack"};
    static const std::set<std::string> task_functions = {"cgroup_id",        "cgroup_path", "container_id",
                                                         "current_exe_file", "pid2task",    "task_current"};
    syntax::for_each_expression(body, [&](const syntax::Expression& e) {
      if (const auto* call = syntax::as<syntax::Call>(e); call && seen.insert(call->name).second) {
        asked.stack |= stack_functions.contains(call->name);
        asked.tasks |= task_functions.contains(call->name);
        for (const syntax::Script& script : scripts_) {
          for (const auto& function : script.functions) {
            if (function->name == call->name && function->body && !function->from_library) ask(*function->body, seen, asked);
          }
        }
      }
      const auto* operation = syntax::as<syntax::AtOperation>(e);
      if (!operation || operation->name != "@cast") return;
      for (const auto& argument : operation->arguments) {
        const auto* text = syntax::as<syntax::String>(argument);
        asked.tasks |= text && (text->value == "kernel" || text->value.starts_with("kernel<"));
      }
    });
  }

  std::span<const syntax::Script> scripts_;
};

}  // namespace

void World::choose_runtime_for(std::span<const syntax::Script> scripts) {
  Question question(scripts);
  for (const syntax::Script& script : scripts) {
    for (const auto& probe : script.probes) question.look_at(*probe);
  }
  const bool of_calls =
      (question.of_calls_tasks && may_probe_kernel()) || (question.of_calls_stack && may_probe_kernel() && can_mix());
  choose_runtime(question.points, question.of_profile || of_calls);
}

}  // namespace spile::probes
