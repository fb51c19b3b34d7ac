#include "session/live/run_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/messages.h"
#include "base/text/number_text.h"
#include "engine/process/process_status.h"

namespace spile::session {

Result<void> check_run(const codegen::CompiledScript& script, const TargetOptions& traced, const OutputOptions& output,
                       bool needs_processes) {
  const bool in_kernel = !script.kernel.object.empty(), in_processes = !script.target.image.bytes.empty();
  if (output.bulk && in_kernel) {
    return Error{
        "-b can't be used with kernel probes: it writes a file for each thread, and handlers in the kernel have no rings of "
        "threads",
        "leave out -b"};
  }
  if (in_kernel && !in_processes && traced.processes.size() > 1) {
    return Error{"several -x can't be used with probes that run in the kernel: such probes are for one process, or for all",
                 "leave out -x, and compare pid() in the script"};
  }
  if (needs_processes && traced.command.empty() && traced.processes.empty()) {
    return Error{"probes on processes need a command or a process to trace",
                 "use -c COMMAND or -x PID; without --runtime=inproc, process.begin and the like are for all processes"};
  }
  return {};
}

bool has_uprobes(const sema::Program& program) {
  return std::ranges::any_of(program.probes, [](const sema::Probe& probe) {
    return probe.domain == sema::Domain::kKernel &&
           std::ranges::any_of(probe.points, [](const sema::ResolvedPoint& point) { return point.site.file_offset != 0; });
  });
}

void warn_of_children(const sema::Program& program, const TargetOptions& traced) {
  if (traced.processes.empty() || !traced.children || !shows_warnings() || !has_uprobes(program)) return;
  std::vector<pid_t> family = {traced.first_process()};
  for (size_t i = 0; i < family.size(); ++i) {
    for (pid_t child : engine::children_of(family[i])) family.push_back(child);
  }
  const size_t children = family.size() - 1;
  if (children == 0) return;
  warn(fmt::format("{} of process {} {} not probed: probes that run in the kernel are for one process, or for all without -x",
                   children == 1 ? "a child" : fmt::format("{} children", children), traced.first_process(),
                   plural(children, "is", "are")));
}

}  // namespace spile::session
