// spile top: which functions are called how often, and how long they take. spile lat: how long the calls of a function take.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/embedded_text.h"
#include "base/processes/proc.h"
#include "base/text/terminal_control.h"
#include "base/text/terminal_text.h"
#include "verbs/tables/latency_rows.h"
#include "verbs/tables/live_table.h"
#include "verbs/tasks/task_request.h"
#include "verbs/tasks/task_verbs.h"
#include "verbs/terms/process_functions.h"
#include "verbs/terms/script_text.h"

SPILE_EMBEDDED_TEXT(spile_verb_top)
SPILE_EMBEDDED_TEXT(spile_verb_lat)
SPILE_EMBEDDED_TEXT(spile_verb_lat_by)

namespace spile::verbs {

namespace {

constexpr size_t kCallersOfEach = 32, kMostPairs = 65536;  // that the script keeps
// Functions that are called in an interval, of however many that are probed: a sketch takes 58 KiB, and a thread's memory has at
// most 4 GiB. Calls of further ones are counted as lost.
constexpr size_t kMostCounted = 32'768;
constexpr int64_t kLiveInterval = 1'000'000'000;
// Whether the table can be shown live: at a terminal with a keyboard, which a command would use, too, in the foreground, that
// knows control sequences.
bool is_live(const session::Options& options) {
  return obeys_control_sequences(STDOUT_FILENO) && options.output.file.empty() && !options.verb.json &&
         options.target.command.empty() && LiveTable::has_terminal();
}

// "4711 shop", "4711 shop and 2 more".
std::string subject(const std::vector<pid_t>& processes) {
  const std::string name = process_name(processes.front());
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
  std::vector<std::string> names;
  if (request.has_processes) {
    TRY(names, functions_in_processes(options.target, request.functions, request.excluded));
  }
  const size_t functions = names.size(), counted = request.has_processes ? std::min(functions + 64, kMostCounted) : kMostCounted;
  if (!request.excluded.empty()) request.functions = std::move(names);
  const bool live = request.has_processes && is_live(options);
  if (live && request.every_ns == 0) request.every_ns = kLiveInterval;
  std::string text = script_text(spile_verb_top(),
                                 {{"WORDS", request.text},
                                  {"RETURNS", return_points(request.functions, !request.excluded.empty())},
                                  {"EVERY", every_ms(request)},
                                  {"COUNTED", std::to_string(counted)},
                                  {"CALLERS", when(request.callers)},
                                  {"PAIRS", std::to_string(std::min(counted * kCallersOfEach + 1024, kMostPairs))},
                                  {"ATTACHES", when(options.target.command.empty())}});  // -c: armed before the first instruction
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
  if (request.has_processes) {
    TRY(std::vector<std::string> names, functions_in_processes(options.target, request.functions, request.excluded));
    if (!request.excluded.empty()) request.functions = std::move(names);
  }
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
    std::string text = script_text(
        spile_verb_lat_by(), {{"WORDS", request.text}, {"RETURNS", returns}, {"EVERY", every_ms(request)}, {"BY", request.by}});
    return table_script(request, options, std::move(text), std::move(settings));
  }
  if (!request.sort.empty() || request.has_limit)
    return Error{fmt::format("--{} is for the table of --by", request.sort.empty() ? "limit" : "sort"),
                 "spile lat f -x PID --by '$size' --sort p99 --limit 5"};
  VerbScript script;
  script.limits = {"MAXSKIPPED=0"};
  script.text = script_text(spile_verb_lat(), {{"WORDS", request.text}, {"RETURNS", returns}, {"EVERY", every_ms(request)}});
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
