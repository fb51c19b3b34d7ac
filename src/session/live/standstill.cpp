#include "session/live/standstill.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstddef>

#include "base/clock.h"
#include "base/messages.h"
#include "base/text/number_text.h"

namespace spile::session {

namespace {

void warn_of_lost_hits(int64_t since, const std::vector<pid_t>& before, const std::vector<pid_t>& now,
                       const Result<void>& suspended) {
  const auto born = std::ranges::count_if(now, [&](pid_t pid) { return std::ranges::find(before, pid) == before.end(); });
  const auto left = static_cast<std::ptrdiff_t>(now.size()) - born;
  warn(fmt::format("{}: hits of {} {} were not counted for {:.2f} s; {} came and {} ended meanwhile",
                   suspended.ok() ? "spile was stopped" : fmt::format("spile did not stop: {}", suspended.error().message),
                   before.size(), plural(before.size(), "process", "processes"),
                   static_cast<double>(monotonic_ns() - since) / 1e9, born, static_cast<std::ptrdiff_t>(before.size()) - left));
}

}  // namespace

// A tracer that does not answer makes its processes stand still at their next fork, thread or signal, so they are released
// before.
void stand_still(const StandstillParts& parts) {
  const int64_t since = monotonic_ns();
  std::vector<pid_t> before;
  Result<void> suspended;
  if (parts.target) {
    before = parts.target->processes();
    suspended = parts.target->suspend();
    parts.output.records().collect(parts.arena);
    parts.output.records().hand_on(true);
  }
  parts.output.file().flush();
  if (suspended.ok()) parts.signals.stand_still();
  if (!parts.target) return;
  if (auto resumed = parts.target->go_on(); !resumed.ok()) warn(resumed.error().message);
  parts.sampler.catch_up(parts.target->processes());
  parts.kernel_targets.catch_up(parts.target->processes());
  warn_of_lost_hits(since, before, parts.target->processes(), suspended);
}

// A frozen process can't be restored: its mappings are undone by system calls that it makes itself.
void await_thaw(TargetSide& target, Signals& signals) {
  constexpr int64_t kPatienceNs = 10'000'000'000;
  constexpr int kOftenMs = 50;
  const std::vector<pid_t> frozen = target.frozen();
  if (frozen.empty()) return;
  (void)signals.take();  // the signal that has ended the session
  warn(
      fmt::format("process {} is frozen by its control group: waiting up to {} s for it to be thawed, to restore its code "
                  "(Ctrl-C stops waiting)",
                  frozen.front(), kPatienceNs / 1'000'000'000));
  const int64_t until = monotonic_ns() + kPatienceNs;
  pollfd signal{signals.fd(), POLLIN, 0};
  while (!target.frozen().empty() && monotonic_ns() < until) {
    if (::poll(&signal, 1, kOftenMs) > 0 && signals.take().stop) return;
  }
}

}  // namespace spile::session
