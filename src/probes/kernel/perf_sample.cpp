// perf.type(N).config(M), with .sample(COUNT) or .hz(RATE), and .process or .process("PATH"): a handler in the kernel runs
// whenever the event has happened so many times on a CPU, or, behind .process, in a thread of the traced processes.
// perf_event_open(2) says what the numbers mean.
//
// perfcounter("NAME").count(N) is the form of SystemTap's first designs (2005).

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/diagnostics.h"
#include "probes/terms/family.h"
#include "probes/world/traced_world.h"

namespace spile::probes {

namespace {

using sema::PerfSample;
using syntax::PointComponent;

constexpr uint64_t kDefaultPeriod = 1'000'000;  // SystemTap's
constexpr uint64_t kLeastClock =
    10'000;  // ns between two samples of the kernel's clocks (kernel/events/core.c); a shorter period would be made longer
constexpr uint32_t kSoftware = 1;  // PERF_TYPE_SOFTWARE, whose first two events are clocks

const std::vector<std::string> kBehindConfig = {"sample", "hz", "process", "counter"};

bool takes(const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  return parts[0].name == "perf" &&
         std::none_of(parts.begin(), parts.end(), [](const PointComponent& part) { return part.name == "counter"; });
}

std::vector<std::string> components(const syntax::ProbePoint&, size_t index) {
  if (index == 1) return {"type"};
  return index == 2 ? std::vector<std::string>{"config"} : kBehindConfig;
}

Result<uint64_t> positive(const syntax::ProbePoint& point, const PointComponent& part) {
  if (*part.number >= 1) return static_cast<uint64_t>(*part.number);
  return Error{fmt::format("the number of '{}' in '{}' is out of range", part.name, text_of(point)), "it must be 1 or more"};
}

sema::ResolvedPoint point_of(const syntax::ProbePoint& point, PerfSample sample) {
  sema::ResolvedPoint made;
  made.kind = sema::ProbeKind::kPerfSample;
  made.domain = sema::Domain::kKernel;
  made.text = text_of(point);
  made.sample = std::make_shared<const PerfSample>(sample);
  return made;
}

Result<void> limit_to_process(TracedWorld& world, const syntax::ProbePoint& point, const PointComponent& part,
                              sema::ResolvedPoint& made) {
  made.of_processes = true;
  if (!world.has_target() && !world.options().only_lists) {
    return Error{fmt::format("'{}' is for traced processes, and no process is traced", text_of(point)),
                 "use -c COMMAND or -x PID; without .process the event is counted in all processes"};
  }
  if (part.text) {
    TRY(made.program, world.find_executable(*part.text));
  }
  return {};
}

Result<Points> resolve(TracedWorld& world, const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  for (size_t at : {size_t{0}, size_t{1}, size_t{2}}) {
    const char* const names[] = {"perf", "type", "config"};
    if (at >= parts.size())
      return Error{fmt::format("the probe point '{}' is incomplete", text_of(point)),
                   "perf.type(1).config(2).sample(1000), or a name such as perf.sw.page_faults"};
    if (parts[at].name != names[at] || parts[at].text || parts[at].number.has_value() != (at > 0))
      return unexpected_component(point, at, {names[at]});
  }
  PerfSample sample;
  constexpr int64_t kMostTypes = std::numeric_limits<uint32_t>::max();
  if (*parts[1].number < 0 || *parts[1].number > kMostTypes)
    return Error{fmt::format("the type of '{}' is out of range", text_of(point)),
                 "types are those of struct perf_event_attr, 0 to 4294967295"};
  sample.type = static_cast<uint32_t>(*parts[1].number);
  sample.config = static_cast<uint64_t>(*parts[2].number);
  sample.period = kDefaultPeriod;
  const PointComponent *every = nullptr, *process = nullptr;
  for (size_t at = 3; at < parts.size(); ++at) {
    const PointComponent& part = parts[at];
    if ((part.name == "sample" || part.name == "hz") && part.number && !every) {
      every = &part;
    } else if (part.name == "process" && !part.number && !process) {
      process = &part;
    } else {
      return unexpected_component(point, at, kBehindConfig);
    }
  }
  if (every) {
    TRY(sample.period, positive(point, *every));
    sample.is_rate = every->name == "hz";
    if (sample.type == kSoftware && sample.config < 2 && !sample.is_rate && sample.period < kLeastClock)
      return Error{fmt::format("the period of '{}' is too short", text_of(point)),
                   fmt::format("the kernel's clocks are sampled every {} ns at most", kLeastClock)};
  }
  TRY_DO(world.require_kernel("perf"));
  sema::ResolvedPoint made = point_of(point, sample);
  if (process) TRY_DO(limit_to_process(world, point, *process, made));
  return Points{std::move(made)};
}

// ---- perfcounter

struct NamedCounter {
  const char* name;
  uint32_t type;
  uint64_t config;
};
constexpr uint32_t kHardware = 0, kCache = 3;        // PERF_TYPE_* of linux/perf_event.h
constexpr uint64_t kReadMisses = uint64_t{1} << 16;  // PERF_COUNT_HW_CACHE_RESULT_MISS; the low byte is the cache
constexpr NamedCounter kCounters[] = {
    {"cycles", kHardware, 0},
    {"instructions", kHardware, 1},
    {"cacheref", kHardware, 2},
    {"cachemiss", kHardware, 3},
    {"branches", kHardware, 4},
    {"branchmiss", kHardware, 5},
    {"tlbmiss", kCache, 3 | kReadMisses},
    {"itlbmiss", kCache, 4 | kReadMisses},
    {"l1miss", kCache, 0 | kReadMisses},
    {"pagefaults", kSoftware, 2},
    {"contextswitches", kSoftware, 3},
};

bool takes_counter(const syntax::ProbePoint& point) { return point.components[0].name == "perfcounter"; }

std::vector<std::string> counter_components(const syntax::ProbePoint&, size_t index) {
  return index == 1 ? std::vector<std::string>{"count"} : std::vector<std::string>{};
}

Result<Points> resolve_counter(TracedWorld& world, const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  std::vector<std::string> names;
  for (const NamedCounter& counter : kCounters) names.emplace_back(counter.name);
  if (!parts[0].text) return Error{"perfcounter needs the name of a counter", "perfcounter(\"tlbmiss\").count(4000)"};
  if (parts.size() > 1 && (parts[1].name != "count" || !parts[1].number)) return unexpected_component(point, 1, {"count"});
  if (parts.size() > 2) return unexpected_component(point, 2, {});
  const auto* known = std::ranges::find(kCounters, *parts[0].text, &NamedCounter::name);
  if (known == std::end(kCounters)) {
    std::string near = nearest_name(*parts[0].text, names);
    return Error{
        fmt::format("unknown counter '{}'", *parts[0].text),
        near.empty() ? "perf.type(N).config(M) takes any event by its numbers" : fmt::format("did you mean '{}'?", near)};
  }
  PerfSample sample{known->type, known->config, kDefaultPeriod, false};
  if (parts.size() > 1) {
    TRY(sample.period, positive(point, parts[1]));
  }
  TRY_DO(world.require_kernel("perfcounter"));
  return Points{point_of(point, sample)};
}

}  // namespace

extern const Family perf_sample_family = {
    "perf",
    takes,
    resolve,
    components,
    {"perf.type(number).config(number)", "perf.type(number).config(number).sample(number)",
     "perf.type(number).config(number).hz(number)", "perf.type(number).config(number).process",
     "perf.type(number).config(number).process(string)", "perf.type(number).config(number).sample(number).process",
     "perf.type(number).config(number).sample(number).process(string)", "perf.type(number).config(number).hz(number).process",
     "perf.type(number).config(number).hz(number).process(string)"}};
extern const Family perfcounter_family = {"perfcounter",
                                          takes_counter,
                                          resolve_counter,
                                          counter_components,
                                          {"perfcounter(string)", "perfcounter(string).count(number)"}};

}  // namespace spile::probes
