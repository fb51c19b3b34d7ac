#include "verbs/tracing/flame_scripts.h"

#include <fmt/format.h>

#include "verbs/tasks/task_verbs.h"
#include "verbs/terms/option_values.h"

namespace spile::verbs {

namespace {

using Unit = runs::Samples::Unit;

constexpr int kMostHz = 100000;

// Of a script that adds up weights by stack: `probes` try to add to `weights`.
std::string weighing_script(const std::string& probes) {
  return "global weights[20000], left_out\n" + probes +
         "probe end {\n  foreach ([process, name, stack] in weights)\n"
         "    printf(\"stack %d %s %d %s\\n\", process, name, @sum(weights[process, name, stack]), stack)\n"
         "  if (left_out) warn(sprintf(\"%d hits are not in the picture: there are more than 20000 stacks\", left_out))\n}\n";
}

constexpr const char* kHere = "weights[pid(), execname(), sprint_ubacktrace()]";

std::string added(const std::string& weight) { return tried(fmt::format("    {} <<< {}\n", kHere, weight)); }

std::string allocations() {
  std::string probes;
  for (const auto& [function, size] :
       {std::pair("malloc", "int_arg(1)"), std::pair("calloc", "int_arg(1) * int_arg(2)"), std::pair("realloc", "int_arg(2)"),
        std::pair("memalign", "int_arg(2)"), std::pair("aligned_alloc", "int_arg(2)"), std::pair("posix_memalign", "int_arg(3)")})
    probes += fmt::format("probe process.library(\"libc.so.6\").function(\"{}\").call {{\n{}}}\n", function, added(size));
  return probes;
}

// Threads wait in system calls. What the kernel does for them there counts as well: process.syscall runs in spile, too, where a
// thread's processor time is not at hand.
std::string time_in_system_calls() {
  return fmt::format(
      "probe process.syscall.return {{\n"
      "  waited = gettimeofday_ns() - @entry(gettimeofday_ns())\n"
      "  if (waited < 1000) next\n{}}}\n",
      added("waited"));
}

// As the scheduler sees it: from when a thread gives the processor up, or loses it, until it has it again.
constexpr const char* kTimeOffProcessors = R"(global since, process_of, name_of, stack_of, weights[20000]
probe kernel.trace("sched:sched_switch") {
  if (target_set_pid(pid())) {
    since[tid()] = gettimeofday_ns()
    process_of[tid()] = pid()
    name_of[tid()] = execname()
    stack_of[tid()] = sprint_backtrace() . sprint_ubacktrace()
  }
  if ($next_pid in since) {
    waited = gettimeofday_ns() - since[$next_pid]
    process = process_of[$next_pid]
    name = name_of[$next_pid]
    stack = stack_of[$next_pid]
    before = weights[process, name, stack]
    weights[process, name, stack] = before + waited
    delete since[$next_pid]
    delete process_of[$next_pid]
    delete name_of[$next_pid]
    delete stack_of[$next_pid]
  }
}
probe end {
  # Not where spile itself has stopped the process.
  foreach ([process, name, stack] in weights)
    if (!isinstr(stack, "ptrace_stop+")) printf("stack %d %s %d %s\n", process, name, weights[process, name, stack], stack)
}
)";

}  // namespace

Result<FlameScript> make_flame_script(const VerbLine& line) {
  FlameScript script;
  std::string point = "timer.profile", chosen;
  script.limits = {"MAXSTRINGLEN=4096"};
  bool in_kernel = false;
  for (const auto& [name, value] : line.options) {
    if (name == "kernel") {
      in_kernel = true;
      continue;
    }
    if (!chosen.empty())
      return Error{fmt::format("--{} and --{} can't be shown in one picture", chosen, name), "run spile flame for each"};
    chosen = name;
    script.words += value.empty() ? " --" + name : fmt::format(" --{} {}", name, value);
    if (name == "hz") {
      TRY(const int hz,
          parse_number("--hz", value, 1, kMostHz,
                       "so many samples are taken in a second of a thread's processor time; 100 if nothing is said"));
      point = fmt::format("timer.profile.freq.hz({})", hz);
    } else if (name == "alloc") {
      script.text = weighing_script(allocations());
      script.empty = "no memory was allocated by the C library's functions";
      script.unit = Unit::kBytes;
    } else if (name == "lock") {
      script.text = weighing_script(futex_waits(kHere));
      script.empty = "no thread has waited in a futex";
      script.unit = Unit::kNs;
    } else if (name == "off-cpu") {
      script.text = weighing_script(time_in_system_calls());
      script.empty = "no system call took a microsecond or more";
      script.unit = Unit::kNs;
    } else if (name == "of") {
      TRY(const std::string function, parse_function(value));
      script.text = weighing_script(fmt::format("probe {}.call {{\n{}}}\n", function_point(function), added("1")));
      script.empty = value + " was not called";
      script.unit = Unit::kCalls;
    }
  }
  if (in_kernel) {
    if (chosen != "off-cpu")
      return Error{"spile flame --kernel goes with --off-cpu", "spile flame --off-cpu --kernel -x PID -o flame.html"};
    script.words += " --kernel";
    script.text = kTimeOffProcessors;
    script.empty = "no thread was without a processor";
  }
  if (!script.text.empty()) return script;
  script.text = fmt::format(
      "probe {} {{\n  printf(\"sample %d %d %d %s %s\\n\", gettimeofday_ns(), pid(), tid(), execname(), "
      "sprint_ubacktrace())\n}}\n",
      point);
  // Names of 256 frames and more have room.
  script.limits = {"MAXSTRINGLEN=16384", "MAXBACKTRACE=1024"};
  return script;
}

}  // namespace spile::verbs
