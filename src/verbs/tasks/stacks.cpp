// What stacks show: spile leaks (memory that is not freed), spile locks (waiting in futexes).

#include "base/embedded_text.h"
#include "verbs/tasks/task_request.h"
#include "verbs/tasks/task_verbs.h"

SPILE_EMBEDDED_TEXT(spile_verb_leaks)
SPILE_EMBEDDED_TEXT(spile_verb_locks)

namespace spile::verbs {

Result<VerbScript> make_leaks(const VerbLine& line, const session::Options& options) {
  TRY(const TaskRequest request, parse_task("leaks", line, options, false, "spile leaks -x PID -T 60"));
  TableRows::Settings settings{{{"pid", "pid", Unit::kId},
                                {"bytes", "bytes", Unit::kBytes},
                                {"blocks", "blocks", Unit::kCount},
                                {"oldest", "oldest_ns", Unit::kTime},
                                {"", "stack", Unit::kStack}}};
  TRY(settings.sort_by, sort_column(request, settings.columns, 1));
  settings.empty = "nothing is left of what was allocated meanwhile";
  return table_script(request, options, task_script(spile_verb_leaks(), request), std::move(settings), {"MAXSTRINGLEN=4096"});
}

Result<VerbScript> make_locks(const VerbLine& line, const session::Options& options) {
  TRY(const TaskRequest request, parse_task("locks", line, options, false, "spile locks -x PID -T 10"));
  TableRows::Settings settings{{{"futex", "futex", Unit::kText},
                                {"waits", "waits", Unit::kCount},
                                {"total", "total_ns", Unit::kTime},
                                {"avg", "avg_ns", Unit::kTime},
                                {"p99", "p99_ns", Unit::kTime},
                                {"max", "max_ns", Unit::kTime},
                                {"", "stack", Unit::kStack}}};
  TRY(settings.sort_by, sort_column(request, settings.columns, 2));
  settings.empty = "no thread has waited in a futex";
  return table_script(request, options, task_script(spile_verb_locks(), request), std::move(settings), {"MAXSTRINGLEN=4096"});
}

}  // namespace spile::verbs
