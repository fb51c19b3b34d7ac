#include "session/live/timers.h"

#include <fmt/format.h>

#include <algorithm>

namespace spile::session {

Timers::Timers(const sema::Program& program) {
  for (const sema::Probe& probe : program.probes) {
    if (probe.kind != sema::ProbeKind::kTimer) continue;
    for (const sema::ResolvedPoint& point : probe.points) {
      timers_.push_back({probe.index, point.text, std::max<int64_t>(point.interval_ns, 1), point.randomize_ns, 0});
    }
  }
}

int64_t Timers::next_interval(const Timer& timer) {
  if (timer.randomize_ns <= 0) return timer.interval_ns;
  std::uniform_int_distribution<int64_t> shift(-timer.randomize_ns, timer.randomize_ns);
  return std::max<int64_t>(1, timer.interval_ns + shift(random_));
}

void Timers::start(int64_t now) {
  for (Timer& timer : timers_) timer.due_ns = now + next_interval(timer);
}

std::optional<int64_t> Timers::next_due() const {
  std::optional<int64_t> due;
  for (const Timer& timer : timers_) due = due ? std::min(*due, timer.due_ns) : timer.due_ns;
  return due;
}

std::vector<int> Timers::take_due(int64_t now) {
  std::vector<std::pair<int64_t, int>> due;
  for (Timer& timer : timers_) {
    if (timer.due_ns > now) continue;
    due.emplace_back(timer.due_ns, timer.probe);
    ++timer.ran;
    timer.due_ns += next_interval(timer);
    if (timer.due_ns > now) continue;
    timer.missed += (now - timer.due_ns) / timer.interval_ns + 1;
    timer.due_ns = now + next_interval(timer);
  }
  std::stable_sort(due.begin(), due.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<int> probes;
  for (const auto& [time, probe] : due) probes.push_back(probe);
  return probes;
}

std::vector<std::string> Timers::losses() const {
  constexpr int64_t kFew = 10, kShortNs = 100'000'000;
  std::vector<std::string> warnings;
  for (const Timer& timer : timers_) {
    if (timer.missed < kFew || timer.missed <= timer.ran / 10 || timer.missed * timer.interval_ns < kShortNs) continue;
    warnings.push_back(fmt::format("{} ran {} times, and missed {}: handlers that run in spile could not run so often",
                                   timer.text, timer.ran, timer.missed));
  }
  return warnings;
}

}  // namespace spile::session
