#include "verbs/tracing/trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/embedded_text.h"
#include "base/print.h"
#include "verbs/calls/call_tree.h"
#include "verbs/tasks/task_request.h"
#include "verbs/terms/option_values.h"
#include "verbs/terms/process_functions.h"
#include "verbs/terms/run_facts.h"
#include "verbs/terms/script_text.h"

SPILE_EMBEDDED_TEXT(spile_verb_trace_kernel)
SPILE_EMBEDDED_TEXT(spile_verb_trace_process)

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

}  // namespace

std::string kernel_trace_script(const TraceRequest& request, const KernelCalls& calls, const Processes& processes,
                                bool returns_know_stack) {
  // One probe for all returns: the kernel has room for pending ones by the number of a link's functions, and roots may sleep in
  // many threads.
  std::vector<KernelFunction> all = calls.roots;
  all.insert(all.end(), calls.callees.begin(), calls.callees.end());
  return script_text(spile_verb_trace_kernel(), {{"WORDS", request.text},
                                                 {"ROOTS", points_of(calls.roots, "")},
                                                 {"CALLEES", points_of(calls.callees, "")},
                                                 {"RETURNS", points_of(all, ".return")},
                                                 {"INTERRUPTS", when(request.interrupts)},
                                                 {"KEY", request.interrupts ? "thread, flow" : "thread"},
                                                 {"RUNNING", std::to_string(kMostRunning)},
                                                 {"STACK_AT_RETURN", when(returns_know_stack)},
                                                 {"ONLY_THESE", when(processes.only_these)},
                                                 {"MINE", statements_for(processes, "mine")}});
}

std::string process_trace_script(const TraceRequest& request) {
  std::string entries;
  for (const std::string& function : request.functions) {
    const char* separator = entries.empty() ? "" : ",\n  ";
    entries += fmt::format("{}{}.call", separator, function_point(function));
  }
  return script_text(
      spile_verb_trace_process(),
      {{"WORDS", request.text}, {"CALLS", entries}, {"RETURNS", return_points(request.functions, !request.excluded.empty())}});
}

namespace {

// Prints which functions are not traced, and why.
void explain(const KernelCalls& calls) {
  print_to(stderr, "spile trace: {} functions at the root, {} below; {} can't be traced:\n", calls.roots.size(),
           calls.callees.size(), calls.left_out.size());
  for (const auto& [name, reason] : calls.left_out) print_to(stderr, "  {} {}\n", name, reason);
}

// Finds the types of the functions, and replaces patterns by names where some are left out.
Result<void> find_process_functions(TraceRequest& request, const session::Options& options, bool shows_script,
                                    ProcessTypes& types) {
  if (options.target.command.empty() && options.target.processes.empty()) {
    if (shows_script && request.excluded.empty()) return {};  // the script has the patterns
    return Error{
        fmt::format("trace needs the processes to look at{}",
                    shows_script
                        ? fmt::format(": with '!{}', its script has the names of their functions", request.excluded.front())
                        : ""),
        fmt::format("spile trace {} -x PID, or -c COMMAND; functions of the kernel have --kernel", request.functions.front())};
  }
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
    TRY_DO(find_process_functions(request, options, line.shows_script, settings.types));
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
