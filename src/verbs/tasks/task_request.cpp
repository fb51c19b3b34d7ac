#include "verbs/tasks/task_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "verbs/tasks/task_verbs.h"
#include "verbs/terms/name_patterns.h"
#include "verbs/terms/option_values.h"
#include "verbs/terms/script_text.h"

namespace spile::verbs {

namespace {

constexpr int kMostRows = 65536;
constexpr int64_t kLeastInterval = 10'000'000, kMostInterval = 86'400'000'000'000;

Result<int64_t> parse_interval(const std::string& text) {
  TRY(const int64_t ns, parse_time("--every", text));
  if (ns < kLeastInterval || ns > kMostInterval)
    return Error{fmt::format("--every {}: not from 10ms to 86400s", text), "a table is printed so often, such as 1s"};
  return ns;
}

}  // namespace

Result<TaskRequest> parse_task(const std::string& name, const VerbLine& line, const session::Options& options,
                               bool takes_functions, const std::string& example) {
  TaskRequest request{name, {}};
  for (const auto& [option, value] : line.options) {
    request.text += value.empty() ? fmt::format(" --{}", option) : fmt::format(" --{} '{}'", option, value);
    if (option == "every") {
      TRY(request.every_ns, parse_interval(value));
    }
    if (option == "limit") {
      TRY(request.limit, parse_number("--limit", value, 1, kMostRows, "so many rows are shown; 20 if nothing is said"));
    }
    if (option == "sort") request.sort = value;
    if (option == "by") {
      TRY_DO(check_expression("--by", value));
      request.by = value;
    }
    if (option == "limit") request.has_limit = true;
    if (option == "callers") request.callers = true;
  }
  for (const std::string& word : line.words) {
    if (!takes_functions) return Error{fmt::format("{} takes no words, such as '{}'", name, word), example};
    request.text += fmt::format(" '{}'", word);
    const bool excludes = word.starts_with("!");
    for (const std::string& each : alternatives_of(excludes ? word.substr(1) : word)) {
      TRY(std::string pattern, parse_function(each));
      (excludes ? request.excluded : request.functions).push_back(std::move(pattern));
    }
  }
  std::ranges::replace(request.text, '\n', ' ');
  if (takes_functions && request.functions.empty())
    return Error{fmt::format("{} needs the name or pattern of a function", name), example};
  const bool has_processes = !options.target.command.empty() || !options.target.processes.empty();
  if (!has_processes && line.shows_script && !request.excluded.empty())
    return Error{fmt::format("{} needs the processes to look at: with '!{}', its script has the names of their functions", name,
                             request.excluded.front()),
                 example + ", or -c COMMAND"};
  if (!has_processes && !line.shows_script)
    return Error{fmt::format("{} needs the processes to look at", name), example + ", or -c COMMAND"};
  request.has_processes = has_processes;
  return request;
}

Result<size_t> sort_column(const TaskRequest& request, const std::vector<Column>& columns, size_t otherwise) {
  if (request.sort.empty()) return otherwise;
  std::string heads;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (is_below(columns[i])) continue;
    if (request.sort == columns[i].head) return i;
    heads += fmt::format("{}{}", heads.empty() ? "" : ", ", columns[i].head);
  }
  return Error{fmt::format("--sort {}: no column has this head", request.sort), "it can be " + heads};
}

std::string return_points(const std::vector<std::string>& functions, bool are_names) {
  std::string text;
  for (const std::string& function : functions)
    text += fmt::format("{}{}.return{}", text.empty() ? "" : ",\n  ", function_point(function), are_names ? "?" : "");
  return text;
}

std::string every_ms(const TaskRequest& request) {
  return request.every_ns > 0 ? std::to_string(request.every_ns / 1'000'000) : "";
}

std::string task_script(std::string_view file, const TaskRequest& request) {
  return script_text(file, {{"WORDS", request.text}, {"EVERY", every_ms(request)}});
}

VerbScript table_script(const TaskRequest& request, const session::Options& options, std::string text,
                        TableRows::Settings settings, std::vector<std::string> limits) {
  settings.most = static_cast<size_t>(request.limit);
  settings.json = options.verb.json;
  settings.repeats = request.every_ns > 0;
  settings.with_ms = has_several_in_second(request);
  VerbScript script;
  script.text = std::move(text);
  script.limits = std::move(limits);
  script.limits.emplace_back(kReportLimit);
  script.limits.emplace_back("MAXSKIPPED=0");  // what is skipped is reported at the end, and ends nothing
  script.presenter = std::make_shared<TableRows>(std::move(settings));
  return script;
}

}  // namespace spile::verbs
