// timer.s(N), ms, us, ns, jiffies, hz, each with .randomize(M): handlers of the controller, at intervals.
// timer.profile, also .tick and .freq.hz(N): on every CPU at a fixed rate, in the kernel; with -c or -x, of the traced threads.

#include <fmt/format.h>

#include <limits>

#include "probes/terms/family.h"
#include "probes/world/traced_world.h"

namespace spile::probes {

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMostSamples = 100'000;  // a second: the kernel's clock events have 10 us between them (kernel/events/core.c)
constexpr int64_t kJiffy = 4'000'000;      // CONFIG_HZ=250, as Debian's kernels have it

struct Unit {
  const char* name;
  int64_t ns;
};
constexpr Unit kUnits[] = {{"ms", 1'000'000}, {"s", kSecond}, {"sec", kSecond}, {"msec", 1'000'000}, {"us", 1'000},
                           {"usec", 1'000},   {"ns", 1},      {"nsec", 1},      {"jiffies", kJiffy}};

std::vector<std::string> components(const syntax::ProbePoint& point, size_t index) {
  if (index > 1 && point.components[1].name == "profile") {
    if (index == 2) return {"tick", "freq"};
    return index == 3 && point.components[2].name == "freq" ? std::vector<std::string>{"hz"} : std::vector<std::string>{};
  }
  if (index > 1) return {"randomize"};
  std::vector<std::string> names = {"hz", "profile"};
  for (const Unit& unit : kUnits) names.emplace_back(unit.name);
  return names;
}

bool takes(const syntax::ProbePoint& point) { return point.components[0].name == "timer"; }

// Nanoseconds of count units; an error where that is no time, or centuries.
Result<int64_t> interval(const syntax::ProbePoint& point, int64_t count, int64_t unit) {
  if (count < 1 || count > std::numeric_limits<int64_t>::max() / unit) {
    return Error{fmt::format("the interval of '{}' is out of range", text_of(point)), ""};
  }
  return count * unit;
}

// Returns nanoseconds between samples of .freq.hz(N); 0 behind .tick and for timer.profile alone, which have the default rate.
Result<int64_t> profile_interval(const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  if (parts.size() == 2) return int64_t{0};
  const bool plain = !parts[2].number && !parts[2].text;
  if (!plain || (parts[2].name != "tick" && parts[2].name != "freq")) return unexpected_component(point, 2, components(point, 2));
  if (parts[2].name == "tick") {
    if (parts.size() > 3) return unexpected_component(point, 3, {});
    return int64_t{0};
  }
  if (parts.size() == 3)
    return Error{fmt::format("the probe point '{}' is incomplete", text_of(point)), "timer.profile.freq.hz(100)"};
  if (parts[3].name != "hz" || !parts[3].number) return unexpected_component(point, 3, components(point, 3));
  if (parts.size() > 4) return unexpected_component(point, 4, {});
  const int64_t rate = *parts[3].number;
  if (rate < 1 || rate > kMostSamples)
    return Error{fmt::format("the rate of '{}' is out of range", text_of(point)),
                 fmt::format("it can be 1 to {} samples a second", kMostSamples)};
  return kSecond / rate;
}

Result<Points> resolve_profile(TracedWorld& world, const syntax::ProbePoint& point) {
  sema::ResolvedPoint made;
  made.kind = sema::ProbeKind::kProfile;
  made.domain = sema::Domain::kKernel;
  TRY(made.interval_ns, profile_interval(point));
  // Of the traced processes' threads only, sampled by the kernel for us. Beside probes in the kernel, time in the kernel is asked
  // for, too.
  bool by_thread = world.process_domain() == sema::Domain::kTarget && !world.has_kernel_probes() &&
                   (world.has_target() || world.options().runtime == Runtime::kInProcess);
  if (by_thread) made.domain = sema::Domain::kController;
  made.of_processes = world.has_target();
  made.text = text_of(point);
  return Points{made};
}

Result<Points> resolve(TracedWorld& world, const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  if (parts.size() < 2) return Error{"'timer' alone is not a probe point", "timer.s(1), timer.ms(100), timer.profile ..."};
  const syntax::PointComponent& kind = parts[1];
  if (kind.name == "profile" && !kind.number && !kind.text) return resolve_profile(world, point);

  int64_t unit = 0;
  for (const Unit& known : kUnits) {
    if (kind.name == known.name) unit = known.ns;
  }
  bool is_rate = kind.name == "hz";
  if (parts[0].number || parts[0].text) return unexpected_component(point, 0, {"timer"});
  if ((unit == 0 && !is_rate) || !kind.number) return unexpected_component(point, 1, components(point, 1));

  sema::ResolvedPoint made;
  made.kind = sema::ProbeKind::kTimer;
  made.text = text_of(point);
  if (is_rate) {
    if (*kind.number < 1 || *kind.number > kSecond)
      return Error{fmt::format("the rate of '{}' is out of range", made.text),
                   fmt::format("it can be 1 to {} times a second", kSecond)};
    made.interval_ns = kSecond / *kind.number;
  } else {
    TRY(made.interval_ns, interval(point, *kind.number, unit));
  }
  if (parts.size() == 2) return Points{made};

  if (parts.size() > 3 || is_rate || parts[2].name != "randomize" || !parts[2].number) {
    return unexpected_component(point, 2, is_rate ? std::vector<std::string>{} : components(point, 2));
  }
  TRY(made.randomize_ns, interval(point, *parts[2].number, unit));
  if (made.randomize_ns >= made.interval_ns)
    return Error{fmt::format("the random part of '{}' is as long as its interval, or longer", made.text),
                 *kind.number > 1 ? fmt::format(".randomize({}) at most", *kind.number - 1) : "leave it out"};
  return Points{made};
}

}  // namespace

extern const Family timer_family = {
    "timer", takes, resolve, components, {"timer.ms(number)",      "timer.ms(number).randomize(number)",
                                          "timer.s(number)",       "timer.s(number).randomize(number)",
                                          "timer.sec(number)",     "timer.sec(number).randomize(number)",
                                          "timer.msec(number)",    "timer.msec(number).randomize(number)",
                                          "timer.us(number)",      "timer.us(number).randomize(number)",
                                          "timer.usec(number)",    "timer.usec(number).randomize(number)",
                                          "timer.ns(number)",      "timer.ns(number).randomize(number)",
                                          "timer.nsec(number)",    "timer.nsec(number).randomize(number)",
                                          "timer.jiffies(number)", "timer.jiffies(number).randomize(number)",
                                          "timer.hz(number)",      "timer.profile",
                                          "timer.profile.tick",    "timer.profile.freq.hz(number)"}};

}  // namespace spile::probes
