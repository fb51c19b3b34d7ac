// spile top: which functions are called how often, and how long they take. spile lat: how long the calls of a function take.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/terminal_control.h"
#include "base/terminal_text.h"
#include "verbs/tables/latency_rows.h"
#include "verbs/tables/live_table.h"
#include "verbs/tasks/task_request.h"
#include "verbs/tasks/task_verbs.h"
#include "verbs/terms/process_functions.h"

namespace spile::verbs {

namespace {

constexpr size_t kCallersOfEach = 32, kMostPairs = 65536;  // that the script keeps
// Functions that are called in an interval, of however many that are probed: a sketch takes 58 KiB, and a thread's memory has at
// most 4 GiB. Calls of further ones are counted as lost.
constexpr size_t kMostCounted = 32'768;
constexpr int64_t kLiveInterval = 1'000'000'000;
// Timers begin when all processes are armed, which can take seconds where they are many: rates are of the time, and of the calls,
// from the first turn of a timer on (what came before is in `before`). Where that is less than 50 ms, or all calls came before,
// rates are of the whole time. The period is one that timers keep on busy machines.
constexpr const char* kFirstTurn =
    "probe timer.ms(250) if (!armed) {\n  armed = 1\n  foreach (name in calls) before[name] = @count(calls[name])\n  since = "
    "gettimeofday_ns()\n}\n";
constexpr const char* kRate =
    "function rate(n, past) {\n  now = gettimeofday_ns()\n  if (n == past || now - since < 50000000) return n * 1000000000 / "
    "(now - began + 1)\n  return (n - past) * 1000000000 / (now - since)\n}\n";
constexpr const char* kElapsed = "gettimeofday_ns() - @entry(gettimeofday_ns())";

// Whether the table can be shown live: at a terminal with a keyboard, which a command would use, too, in the foreground, that
// knows control sequences.
bool is_live(const session::Options& options) {
  return obeys_control_sequences(STDOUT_FILENO) && options.output.file.empty() && !options.verb.json &&
         options.target.command.empty() && LiveTable::has_terminal();
}

// "4711 shop", "4711 shop and 2 more".
std::string subject(const std::vector<pid_t>& processes) {
  std::string name;
  std::getline(std::ifstream(fmt::format("/proc/{}/comm", processes.front())), name);
  return fmt::format("{} {}{}", processes.front(), one_line(name, 64),
                     processes.size() == 1 ? "" : fmt::format(" and {} more", processes.size() - 1));
}

}  // namespace

Result<VerbScript> make_top(const VerbLine& line, const session::Options& options) {
  TRY(TaskRequest request, parse_task("top", line, options, true, "spile top 'f*' -x PID"));
  TableRows::Settings settings{{{"function", "function", Unit::kText},
                                {"calls", "calls", Unit::kCount},
                                {"calls/s", "calls_per_second", Unit::kCount},
                                {"total", "total_ns", Unit::kTime},
                                {"avg", "avg_ns", Unit::kTime},
                                {"p50", "p50_ns", Unit::kTime},
                                {"p99", "p99_ns", Unit::kTime},
                                {"max", "max_ns", Unit::kTime}}};
  TRY(settings.sort_by, sort_column(request, settings.columns, 1));
  if (request.callers) settings.columns.push_back({"", "callers", Unit::kCallers});
  settings.empty = "no call has returned";
  TRY(std::vector<std::string> names, functions_in_processes(options.target, request.functions, request.excluded));
  const size_t functions = names.size(), counted = std::min(functions + 64, kMostCounted);
  if (!request.excluded.empty()) request.functions = std::move(names);
  const bool live = is_live(options);
  if (live && request.every_ns == 0) request.every_ns = kLiveInterval;
  // The processes of -x are armed one after the other; the one of -c before its first instruction.
  const bool attaches = options.target.command.empty();
  const std::string clear = std::string("  delete calls\n") + (request.callers ? "  delete callers\n" : "") +
                            (attaches ? "  delete before\n  armed = 1\n" : "") + "  since = began = gettimeofday_ns()\n";
  std::string text = task_script(
      request,
      fmt::format("global calls[{}], began, since{}{}", counted, attaches ? fmt::format(", before[{}], armed", counted) : "",
                  request.callers ? fmt::format(", callers[{}]", std::min(functions * kCallersOfEach + 1024, kMostPairs)) : ""),
      std::string(kRate) + "probe begin {\n  since = began = gettimeofday_ns()\n}\n" + std::string(attaches ? kFirstTurn : "") +
          fmt::format("probe {} {{\n  calls[ppfunc()] <<< {}\n{}}}\n",
                      return_points(request.functions, !request.excluded.empty()), kElapsed,
                      request.callers ? "  callers[ppfunc(), @entry(caller_addr())]++\n" : ""),
      "  foreach (name in calls) {\n"
      "    n = @count(calls[name])\n"
      "    printf(\"row %s %d %d %d %d %d %d %d\\n\", name, n, rate(n, " +
          std::string(attaches ? "before[name]" : "0") +
          "), @sum(calls[name]), @avg(calls[name]),\n"
          "      @percentile(calls[name], 50), @percentile(calls[name], 99), @max(calls[name]))\n  }\n" +
          std::string(request.callers ? "  foreach ([name, from] in callers) {\n    caller = usymname(from)\n"
                                        "    printf(\"caller %s %s %d\\n\", name, substr(caller, 0, 2) == \"0x\" ? "
                                        "usymdata(from) : caller, callers[name, from])\n  }\n"
                                      : ""),
      clear);
  VerbScript script = table_script(request, options, std::move(text), settings);
  script.when_full = script.when_large = "name fewer functions";
  if (!live) return script;
  settings.repeats = true;
  script.presenter = std::make_shared<LiveTable>(
      std::move(settings), LiveTable::Frame{"spile top", subject(options.target.processes), functions, request.callers});
  return script;
}

Result<VerbScript> make_lat(const VerbLine& line, const session::Options& options) {
  TRY(TaskRequest request, parse_task("lat", line, options, true, "spile lat f -x PID"));
  TRY(std::vector<std::string> names, functions_in_processes(options.target, request.functions, request.excluded));
  if (!request.excluded.empty()) request.functions = std::move(names);
  const std::string returns = return_points(request.functions, !request.excluded.empty());
  if (!request.by.empty()) {
    TableRows::Settings settings{{{"value", "value", Unit::kText},
                                  {"calls", "calls", Unit::kCount},
                                  {"total", "total_ns", Unit::kTime},
                                  {"avg", "avg_ns", Unit::kTime},
                                  {"p50", "p50_ns", Unit::kTime},
                                  {"p99", "p99_ns", Unit::kTime},
                                  {"max", "max_ns", Unit::kTime}}};
    TRY(settings.sort_by, sort_column(request, settings.columns, 1));
    settings.empty = "no call has returned";
    std::string text = task_script(
        request, "global calls[4096]",
        fmt::format("probe {} {{\n  took = {}\n  value = @entry(sprint({}))\n{}}}\n", returns, kElapsed, request.by,
                    tried("    calls[value] <<< took\n")),
        "  foreach (value in calls)\n"
        "    printf(\"row %s %d %d %d %d %d %d\\n\", value, @count(calls[value]), @sum(calls[value]), @avg(calls[value]),\n"
        "      @percentile(calls[value], 50), @percentile(calls[value], 99), @max(calls[value]))\n",
        "  delete calls\n", "calls are not in the table: there are more than 4096 values");
    return table_script(request, options, std::move(text), std::move(settings));
  }
  if (!request.sort.empty() || request.has_limit)
    return Error{fmt::format("--{} is for the table of --by", request.sort.empty() ? "limit" : "sort"),
                 "spile lat f -x PID --by '$size' --sort p99 --limit 5"};
  VerbScript script;
  script.limits = {"MAXSKIPPED=0"};
  const std::string report =
      "  n = @count(times)\n  if (n) {\n"
      "    printf(\"sum %d %d %d %d %d %d %d %d\\n\", n, @min(times), @avg(times), @percentile(times, 50), @percentile(times, "
      "90), @percentile(times, 99),\n"
      "      @percentile(times, \"99.9\"), @max(times))\n"
      "    foreach (bucket in @hist_log(times)) if (@hist_log(times)[bucket]) printf(\"bucket %d %d\\n\", bucket, "
      "@hist_log(times)[bucket])\n  }\n";
  script.text = task_script(request, "global times", fmt::format("probe {} {{\n  times <<< {}\n}}\n", returns, kElapsed), report,
                            "  delete times\n");
  script.presenter = std::make_shared<LatencyRows>(
      LatencyRows::Settings{options.verb.json, request.every_ns > 0, has_several_in_second(request)});
  return script;
}

const VerbOption kTableOptions[3] = {
    {"every", "TIME", "tables: print one so often, such as 1s, rather than one at the end; lat: a line of a heat map"},
    {"sort", "COLUMN", "tables: sort rows by this column"},
    {"limit", "N", "tables: show so many rows (20)"},
};
const VerbOption kTopOptions[4] = {
    kTableOptions[0],
    kTableOptions[1],
    kTableOptions[2],
    {"callers", nullptr, "top: also count who calls each function, shown below it, or on a terminal by the key c"}};
const VerbOption kLatOptions[4] = {
    kTableOptions[0],
    kTableOptions[1],
    kTableOptions[2],
    {"by", "EXPRESSION", "lat: a row for each value of a script's expression at the call, such as '$size'"}};

}  // namespace spile::verbs
