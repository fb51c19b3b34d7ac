#include "verbs/tracing/trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/print.h"
#include "verbs/calls/call_tree.h"
#include "verbs/terms/option_values.h"
#include "verbs/terms/process_functions.h"
#include "verbs/terms/run_facts.h"

namespace spile::verbs {

namespace {

constexpr int kMostRunning = 16384;  // threads in a tree at a time

std::string point_of(const KernelFunction& function) {
  return function.module.empty() ? fmt::format("kernel.function(\"{}\")", function.name)
                                 : fmt::format("module(\"{}\").function(\"{}\")", function.module, function.name);
}

std::string points_of(const std::vector<KernelFunction>& functions, const char* suffix) {
  std::string text;
  for (const KernelFunction& function : functions)
    text += fmt::format("{}{}{}", text.empty() ? "" : ",\n  ", point_of(function), suffix);
  return text;
}

// Where the stack is at the entry of the function, at its entry and its return: the return has taken the return address.
constexpr const char* kHereAtEntry = "  here = register(\"rsp\")\n";
constexpr const char* kHereAtReturn = "  here = register(\"rsp\") - 8\n";
// Where the return does not know the stack: kept from the entry, for which the kernel's own bookkeeping of kprobes is needed.
constexpr const char* kHereKept = "  here = @entry(register(\"rsp\"))\n";
// A stack of the kernel has at most 16 KiB: further away, it is another one.
constexpr const char* kUnlessBelowRoot = "  if (outer < here || outer - here >= 16384) next\n";
constexpr const char* kRegisters =
    R"(register("rdi"), register("rsi"), register("rdx"), register("rcx"), register("r8"), register("r9"))";

// An interrupt that ends may leave the processor to another thread. The scheduler runs on the interrupted thread then, without
// the marks of an interrupt: it is not called by what was interrupted. The thread has no tree until it goes on.
std::string preemption_probes() {
  const std::string begin = "  if (execution_flow() < 0) next\n  thread = tid()\n";
  return "probe kernel.function(\"preempt_schedule_irq\")? {\n" + begin +
         "  outer = inside[thread]\n"
         "  if (!outer) next\n"
         "  try { paused[thread] = outer; delete inside[thread] } catch { next }\n}\n"
         "probe kernel.function(\"preempt_schedule_irq\").return? {\n" +
         begin +
         "  outer = paused[thread]\n"
         "  if (!outer) next\n"
         "  delete paused[thread]\n"
         "  try { inside[thread] = outer } catch { lost++ }\n}\n";
}

}  // namespace

std::string kernel_trace_script(const TraceRequest& request, const KernelCalls& calls, const Processes& processes,
                                bool returns_know_stack) {
  const bool interrupts = request.interrupts;
  const std::string key = interrupts ? "thread, flow" : "thread";
  // Before anything that takes a lock: an interrupt's handler would wait for one that the thread's holds, below it.
  const std::string begin =
      fmt::format("  if (execution_flow() {} 0) next\n  thread = tid()\n  flow = execution_flow()\n", interrupts ? ">=" : "<");
  const std::string entry = begin + kHereAtEntry, at_return = begin + (returns_know_stack ? kHereAtReturn : kHereKept);
  const std::string outer = fmt::format("  outer = inside[{}]\n", key);
  std::string text = fmt::format("# spile trace{}\n", request.text);
  text += fmt::format(
      "# inside: where the stack was at the outermost call of a root, by thread{}. Calls of functions of `call` count below it "
      "only.\n",
      interrupts ? " and interrupt" : "");
  text += fmt::format("global inside[{}], lost{}", kMostRunning, processes.only_these ? "" : ", elsewhere");
  if (!interrupts) text += fmt::format(", paused[{}]", kMostRunning);
  if (processes.only_these) text += fmt::format(", mine[{0}], born[{0}], uncounted", kMostRunning);
  text += "\n";
  if (processes.only_these) text += thread_probes_of(processes, "uncounted");
  text += fmt::format("probe {} {{\n", points_of(calls.roots, "")) + entry;
  if (processes.only_these) text += "  if (!(tid() in mine)) next\n";
  text += outer;
  text += fmt::format("  if (outer < here || outer - here >= 16384) {{ try {{ inside[{}] = here }} catch {{ lost++; next }} }}\n",
                      key);
  text += fmt::format(
      "  printf(\"root %d %d %d %d %x %x %x %x %x %x %x %s %s\\n\", flow, pid(), thread, ktime_get_ns(), here, {}, ppfunc(), "
      "execname())\n}}\n",
      kRegisters);
  if (!calls.callees.empty()) {
    text += fmt::format("probe {} {{\n", points_of(calls.callees, "")) + entry + outer + kUnlessBelowRoot;
    text += fmt::format("  printf(\"call %d %d %x %x %x %x %x %x %x %s\\n\", flow, ktime_get_ns(), here, {}, ppfunc())\n}}\n",
                        kRegisters);
  }
  // One probe for all returns: the kernel has room for pending ones by the number of a link's functions, and roots may sleep in
  // many threads.
  std::vector<KernelFunction> all = calls.roots;
  all.insert(all.end(), calls.callees.begin(), calls.callees.end());
  text += fmt::format("probe {} {{\n", points_of(all, ".return")) + at_return + outer + kUnlessBelowRoot;
  text += fmt::format(
      "  if (outer == here) delete inside[{}]\n"
      "  printf(\"leave %d %d %x %x %s\\n\", flow, ktime_get_ns(), here, register(\"rax\"), ppfunc())\n}}\n",
      key);
  if (!interrupts) text += preemption_probes();
  if (!interrupts) {
    // A thread that ends does not come back from do_exit().
    text += "probe kernel.function(\"do_task_dead\")!, kernel.trace(\"sched:sched_process_exit\") {\n" + begin +
            "  if (!(thread in inside)) next\n"
            "  delete inside[thread]\n"
            "  printf(\"gone %d %d\\n\", flow, ktime_get_ns())\n}\n";
  }
  if (!processes.only_these)
    text += fmt::format("probe {} {{\n  if (execution_flow() {} 0) elsewhere++\n}}\n", points_of(calls.roots, ""),
                        interrupts ? ">=" : "<");
  text += "probe end {\n";
  text +=
      fmt::format("  if (lost) warn(sprintf(\"%d calls are not shown: more than {} threads were in a tree at a time\", lost))\n",
                  kMostRunning);
  if (!processes.only_these)
    text += interrupts ? "  if (elsewhere) warn(sprintf(\"%d calls of the roots were not in interrupts: they are shown without "
                         "--interrupts\", elsewhere))\n"
                       : "  if (elsewhere) warn(sprintf(\"%d calls of the roots were in interrupts: --interrupts shows them\", "
                         "elsewhere))\n";
  if (processes.only_these)
    text += "  if (uncounted) warn(sprintf(\"%d children are not traced: there are too many\", uncounted))\n";
  return text + "}\n";
}

std::string process_trace_script(const TraceRequest& request) {
  std::string entries, returns;
  for (const std::string& function : request.functions) {
    const char* separator = entries.empty() ? "" : ",\n  ";
    entries += fmt::format("{}{}.call", separator, function_point(function));
    returns += fmt::format("{}{}.return", separator, function_point(function));
  }
  // A thread's name costs a system call, more than all else here: it is asked for as the thread begins and when it has changed
  // its name, and at every 64th call, for names that are changed otherwise.
  return fmt::format(
      "# spile trace{}\n"
      "global calls\n"
      "probe process.begin, process.thread.begin, process.library(\"libc.so.6\").function(\"prctl\").return?,\n"
      "  process.library(\"libc.so.6\").function(\"pthread_setname_np\").return? {{\n  printf(\"name %d %s\\n\", tid(), "
      "execname())\n}}\n"
      "probe {} {{\n"
      "  if ((calls++ & 63) == 0) printf(\"name %d %s\\n\", tid(), execname())\n"
      "  printf(\"enter %d %d %d %x %s %s\\n\", tid(), pid(), gettimeofday_ns(), register(\"rsp\"), ppfunc(), $$parms)\n}}\n"
      "probe {} {{\n"
      "  printf(\"exit %d %d %x %s %s\\n\", tid(), gettimeofday_ns(), register(\"rsp\") - 8, ppfunc(), $$return)\n}}\n",
      request.text, entries, returns);
}

namespace {

// Prints which functions are not traced, and why.
void explain(const KernelCalls& calls) {
  print_to(stderr, "spile trace: {} functions at the root, {} below; {} can't be traced:\n", calls.roots.size(),
           calls.callees.size(), calls.left_out.size());
  for (const auto& [name, reason] : calls.left_out) print_to(stderr, "  {} {}\n", name, reason);
}

// Finds the types of the functions, and replaces patterns by names where some are left out.
Result<void> find_process_functions(TraceRequest& request, const session::Options& options, ProcessTypes& types) {
  const auto learn = [&](const std::string& name, const std::vector<std::string>& variables) {
    auto& known = types[name];
    for (const std::string& variable : variables) {
      const size_t colon = variable.find(':');
      if (variable.starts_with("$") && colon != std::string::npos)
        known.emplace(variable.substr(1, colon - 1), variable.substr(colon + 1));
    }
  };
  TRY(std::vector<std::string> names, functions_in_processes(options.target, request.functions, request.excluded, learn));
  if (!request.excluded.empty()) request.functions = std::move(names);
  return {};
}

Result<void> trace_kernel(const TraceRequest& request, const session::Options& options, CallTree::Settings& settings,
                          std::string& text) {
  auto kernel = std::make_shared<kernelinfo::KernelInfo>();
  TRY(const KernelCalls calls, find_kernel_calls(*kernel, {request.functions, request.also, request.excluded, request.depth}));
  if (options.messages.verbosity() > 0) explain(calls);
  std::map<std::string, std::string> modules;
  for (const auto* functions : {&calls.roots, &calls.callees}) {
    for (const KernelFunction& function : *functions) {
      if (!function.module.empty()) modules.emplace(function.name, function.module);
    }
  }
  const kernelinfo::Features& features = kernel->features();
  text = kernel_trace_script(request, calls, processes_of(options.target), !features.multi || features.multi_return_stack);
  settings.prototypes = std::make_shared<KernelPrototypes>(std::move(kernel), std::move(modules));
  return {};
}

}  // namespace

Result<VerbScript> make_trace(const VerbLine& line, const session::Options& options) {
  TRY(TraceRequest request, parse_trace(line));
  request.json = options.verb.json;
  const bool for_perfetto = options.output.file.ends_with(".pftrace");
  if (for_perfetto && request.json) return Error{"--json and a .pftrace file are two forms of output", "leave out one"};
  if (for_perfetto && options.output.rotate_bytes > 0)
    return Error{"-S can't be used with a .pftrace file, which is one file", {}};
  const std::string& collector = options.output.otlp;
  if (!collector.empty() && (request.json || !options.output.file.empty()))
    return Error{fmt::format("--otlp and {} are two forms of output", request.json ? "--json" : "-o"), "leave out one"};
  VerbScript script;
  script.sends_spans = !collector.empty() && options.output.record.file.empty();
  CallTree::Settings settings{request.depth, request.over_ns, request.json};
  if (request.in_kernel) {
    TRY_DO(trace_kernel(request, options, settings, script.text));
  } else {
    TRY_DO(find_process_functions(request, options, settings.types));
    script.text = process_trace_script(request);
  }
  // What is skipped is reported at the end, and ends nothing.
  script.limits.emplace_back("MAXSKIPPED=0");
  if (for_perfetto) {
    // Handlers in the kernel give times of ktime_get_ns().
    using Clock = runs::Timeline::Clock;
    settings.timeline = std::make_shared<runs::Timeline>(request.in_kernel ? Clock::kMonotonic : Clock::kRealtime);
    settings.facts = run_facts("trace" + request.text, script.text, options);
  }
  if (script.sends_spans) {
    TRY(settings.spans, CallSpans::create(collector, run_facts("trace" + request.text, script.text, options),
                                          request.in_kernel ? realtime_offset_ns() : 0));
  }
  script.presenter = std::make_shared<CallTree>(std::move(settings));
  return script;
}

const VerbOption kTraceOptions[5] = {
    {"kernel", nullptr, "trace: functions of the kernel, and those that they call"},
    {"depth", "N", "trace: how deep trees are, their root included (3 with --kernel)"},
    {"over", "TIME", "trace: show trees whose root took longer, such as 1ms"},
    {"also", "PATTERN", "trace --kernel: functions that are called through pointers, too"},
    {"interrupts", nullptr, "trace --kernel: calls in interrupts, rather than in threads"},
};

}  // namespace spile::verbs
