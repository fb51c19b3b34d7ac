// What stacks show: spile leaks (memory that is not freed), spile locks (waiting in futexes).

#include <fmt/format.h>

#include "verbs/tasks/task_request.h"
#include "verbs/tasks/task_verbs.h"

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
  constexpr const char* kNote =
      "    sizes[pid(), block] = size\n    stacks[pid(), block] = sprint_ubacktrace()\n    times[pid(), block] = "
      "gettimeofday_ns()\n";
  const auto allocates = [](const char* function, const char* size, const char* block) {
    return fmt::format(
        "probe process.library(\"libc.so.6\").function(\"{0}\").return {{\n  block = {2}\n  if (!block) next\n"
        "  size = @entry({1})\n{3}}}\n",
        function, size, block, tried(kNote));
  };
  const std::string probes =
      allocates("malloc", "int_arg(1)", "returnval()") + allocates("calloc", "int_arg(1) * int_arg(2)", "returnval()") +
      allocates("memalign", "int_arg(2)", "returnval()") + allocates("aligned_alloc", "int_arg(2)", "returnval()") +
      allocates("posix_memalign", "int_arg(3)", "returnval() == 0 ? user_uint64(@entry(pointer_arg(1))) : 0") +
      "probe process.library(\"libc.so.6\").function(\"realloc\").return {\n  block = returnval()\n  old = "
      "@entry(pointer_arg(1))\n  size = @entry(int_arg(2))\n"
      "  if (!block && size) next\n"
      "  if (old) {\n    delete sizes[pid(), old]\n    delete stacks[pid(), old]\n    delete times[pid(), old]\n  }\n"
      "  if (!block) next\n" +
      tried(kNote) +
      "}\n"
      "probe process.library(\"libc.so.6\").function(\"free\") {\n  block = pointer_arg(1)\n"
      "  delete sizes[pid(), block]\n  delete stacks[pid(), block]\n  delete times[pid(), block]\n}\n";
  return table_script(
      request, options,
      task_script(request,
                  "global sizes[1000000], stacks[1000000], times[1000000]\nglobal bytes[20000], blocks[20000], oldest[20000]",
                  probes,
                  "  now = gettimeofday_ns()\n"
                  "  foreach ([process, block] in sizes) {\n"
                  "    stack = stacks[process, block]\n    age = now - times[process, block]\n"
                  "    if (!([process, stack] in bytes) && different++ >= 20000) {\n      left_out++\n      continue\n    }\n"
                  "    bytes[process, stack] += sizes[process, block]\n    blocks[process, stack]++\n"
                  "    if (age > oldest[process, stack]) oldest[process, stack] = age\n  }\n"
                  "  foreach ([process, stack] in bytes)\n"
                  "    printf(\"row %d %d %d %d %s\\n\", process, bytes[process, stack], blocks[process, stack], oldest[process, "
                  "stack], stack)\n"
                  "  delete bytes\n  delete blocks\n  delete oldest\n",
                  "", "blocks are not in the table: there are more than a million, or more than 20000 stacks"),
      std::move(settings), {"MAXSTRINGLEN=4096"});
}

std::string futex_waits(const std::string& aggregate) {
  // FUTEX_WAIT, FUTEX_LOCK_PI, FUTEX_WAIT_BITSET, FUTEX_WAIT_REQUEUE_PI and FUTEX_LOCK_PI2 of linux/futex.h, whatever their
  // flags.
  return fmt::format(
      "probe syscall.futex.return {{\n  operation = $op & 127\n"
      "  if (operation != 0 && operation != 6 && operation != 9 && operation != 11 && operation != 13) next\n"
      "  took = gettimeofday_ns() - @entry(gettimeofday_ns())\n{}}}\n",
      tried(fmt::format("    {} <<< took\n", aggregate)));
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
  const std::string probes = futex_waits("waits[$uaddr, sprint_ubacktrace()]");
  return table_script(request, options,
                      task_script(request, "global waits[20000]", probes,
                                  "  foreach ([futex, stack] in waits)\n"
                                  "    printf(\"row %s %d %d %d %d %d %s\\n\", sprintf(\"%p\", futex), @count(waits[futex, "
                                  "stack]), @sum(waits[futex, stack]), @avg(waits[futex, stack]),\n"
                                  "      @percentile(waits[futex, stack], 99), @max(waits[futex, stack]), stack)\n",
                                  "  delete waits\n", "waits are not in the table: there are more than 20000 futexes and stacks"),
                      std::move(settings), {"MAXSTRINGLEN=4096"});
}

}  // namespace spile::verbs
