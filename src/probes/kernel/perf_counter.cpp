// perf.type(N).config(M)[.process("PATH")].counter("NAME"): a counter that probes of processes read by @perf("NAME").
// Nothing is armed for it and its body never runs: what is read is what the kernel keeps for every thread anyway
// (perf_event_open(2) calls these software events; getrusage(2), clock_gettime(2)). That takes a system call and no open
// file in the traced process. Hardware's counters would need such a file, so they are refused.
//
// The numbers are those of linux/perf_event.h.

#include <fmt/format.h>

#include <algorithm>

#include "probes/terms/family.h"

namespace spile::probes {

namespace {

using sema::PerfEvent;

constexpr int64_t kSoftwareType = 1;

bool takes(const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  return parts[0].name == "perf" &&
         std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.name == "counter"; });
}

std::vector<std::string> components(const syntax::ProbePoint&, size_t index) {
  switch (index) {
    case 1: return {"type"};
    case 2: return {"config"};
    default: return {"process", "counter"};
  }
}

std::optional<PerfEvent> event_of(int64_t type, int64_t config) {
  if (type != kSoftwareType) return std::nullopt;
  switch (config) {
    case 0:  // a thread's cpu-clock runs while it does
    case 1: return PerfEvent::kTaskClock;
    case 2: return PerfEvent::kPageFaults;
    case 3: return PerfEvent::kContextSwitches;
    case 5: return PerfEvent::kMinorFaults;
    case 6: return PerfEvent::kMajorFaults;
    default: return std::nullopt;
  }
}

Result<Points> resolve(TracedWorld&, const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  auto is = [&](size_t i, const char* name, bool number) {
    return i < parts.size() && parts[i].name == name && (number ? parts[i].number.has_value() : parts[i].text.has_value());
  };
  size_t at = 1;
  if (!is(at, "type", true)) return unexpected_component(point, at, components(point, at));
  if (!is(++at, "config", true)) return unexpected_component(point, std::min(at, parts.size() - 1), components(point, at));
  ++at;
  if (at < parts.size() && parts[at].name == "process") {
    if (parts[at].number) return unexpected_component(point, at, {"process"});
    ++at;
  }
  if (!is(at, "counter", false)) return unexpected_component(point, std::min(at, parts.size() - 1), components(point, at));
  if (at + 1 < parts.size()) return unexpected_component(point, at + 1, {});
  std::optional<PerfEvent> event = event_of(*parts[1].number, *parts[2].number);
  if (!event) {
    return Error{
        fmt::format("the counter of '{}' can't be read inside a process", text_of(point)),
        "counters that can: perf.sw.task_clock, cpu_clock, page_faults, page_faults_min, page_faults_maj and context_switches"};
  }
  sema::ResolvedPoint made;
  made.kind = sema::ProbeKind::kNever;
  made.text = text_of(point);
  made.counter = *parts[at].text;
  made.counter_event = *event;
  return Points{made};
}

}  // namespace

extern const Family perf_counter_family = {
    "perf",
    takes,
    resolve,
    components,
    {"perf.type(number).config(number).counter(string)", "perf.type(number).config(number).process.counter(string)",
     "perf.type(number).config(number).process(string).counter(string)"}};

}  // namespace spile::probes
