#include "session/live/armed_note.h"

#include <fmt/format.h>

#include "base/text/number_text.h"
#include "base/text/terminal_text.h"
#include "engine/process/process_status.h"

namespace spile::session {

std::string armed_note(const SessionStatus& status, int64_t paused_ns) {
  uint64_t places = 0;
  for (const ProbeStatus& probe : status.probes) places += probe.runs_in == "spile" ? 0 : probe.places;
  if (places == 0) return {};
  std::string where;
  if (!status.processes.empty()) {
    const pid_t first = status.processes.front();
    where = fmt::format(" in {} ({})", one_line(engine::ProcessStatus::read(first).field("Name"), 64), first);
    if (const size_t others = status.processes.size() - 1; others > 0)
      where += fmt::format(" and {} other {}", others, plural(others, "process", "processes"));
  }
  const std::string paused = paused_ns > 0 ? fmt::format(", paused {}", time_text(paused_ns)) : "";
  return fmt::format("spile: armed {} {}{}{}; Ctrl-C ends", with_commas(places), plural(places, "place"), where, paused);
}

}  // namespace spile::session
