#pragma once
// What the verbs of task_verbs.h have in common: their options, and how the script prints its table.

#include <string>
#include <vector>

#include "base/result.h"
#include "session/terms/options.h"
#include "verbs/tables/table_rows.h"
#include "verbs/terms/verb_script.h"

namespace spile::verbs {

struct TaskRequest {
  std::string name;  // of the verb
  std::string text;  // the words and options as given, for the script's head
  std::vector<std::string> functions = {}, excluded = {};
  int64_t every_ns = 0;  // 0: one table, at the end
  int limit = 20;
  std::string sort = {}, by = {};           // as given; "": absent
  bool callers = false, has_limit = false;  // --limit was given
  bool has_processes = true;                // else only the script is asked for (--script), and no process is given
};

// Whether tables follow each other within a second.
inline bool has_several_in_second(const TaskRequest& request) { return request.every_ns > 0 && request.every_ns < 1'000'000'000; }

// takes_functions: words are patterns of functions, '!' excludes; at least one is needed. example: a line of the verb, for
// errors. Errors: no process is given, which --script needs only where functions are excluded; a word or an option's value has no
// meaning.
Result<TaskRequest> parse_task(const std::string& name, const VerbLine& line, const session::Options& options,
                               bool takes_functions, const std::string& example);

// Returns the column that --sort names, or `otherwise`. Error: no column has that head.
Result<size_t> sort_column(const TaskRequest& request, const std::vector<Column>& columns, size_t otherwise);

// Returns "process.function("a").return,\n  process...". are_names: what can't be probed is left out, as it is where a pattern
//                                           matches it.
std::string return_points(const std::vector<std::string>& functions, bool are_names);

// The interval of --every, as timer.ms() takes it; "": none is given.
std::string every_ms(const TaskRequest& request);

// Returns the script of a file (script_text.h) that has no more than @WORDS, for its head, and @EVERY.
std::string task_script(std::string_view file, const TaskRequest& request);

// Returns a script whose table has these settings; the request's options and --json are added. limits: as -D takes them.
VerbScript table_script(const TaskRequest& request, const session::Options& options, std::string text,
                        TableRows::Settings settings, std::vector<std::string> limits = {});

}  // namespace spile::verbs
