#include "session/kernel_targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/print.h"
#include "base/proc.h"
#include "session/process_watch.h"

namespace spile::session {

KernelTargets::KernelTargets(const sema::Program& program) {
  for (const sema::Probe& probe : program.probes) {
    follows_ |= probe.domain == sema::Domain::kKernel &&
                std::ranges::any_of(probe.points, [](const sema::ResolvedPoint& point) { return point.of_processes; });
  }
}

Result<void> KernelTargets::start(KernelSide& kernel, const std::vector<pid_t>& processes) {
  if (!follows_) return {};
  kernel_ = &kernel;
  for (pid_t pid : processes) TRY_DO(add(pid));
  return {};
}

Result<void> KernelTargets::add(pid_t pid) {
  TRY_DO(kernel_->add_process(pid));
  const std::string program = program_of(pid);
  for (pid_t tid : threads_of(pid)) TRY_DO(kernel_->follow(tid, program));
  return {};
}

void KernelTargets::on_change(const engine::ThreadChange& change) {
  if (!kernel_) return;
  using Kind = engine::ThreadChange::Kind;
  switch (change.kind) {
    case Kind::kProcessBorn:
    case Kind::kExecuted:
      return warn(add(change.pid));
    case Kind::kThreadBorn:
      return warn(kernel_->follow(change.tid, program_of(change.pid)));
    case Kind::kProcessEnded:
      kernel_->drop_process(change.pid);
      return kernel_->unfollow(change.tid);
    case Kind::kThreadEnded:
      return kernel_->unfollow(change.tid);
    default:
      return;
  }
}

void KernelTargets::catch_up(const std::vector<pid_t>& processes) {
  if (!kernel_) return;
  for (pid_t pid : processes) warn(add(pid));
}

void KernelTargets::warn(const Result<void>& outcome) {
  if (outcome.ok() || std::exchange(warned_, true)) return;
  print_to(stderr, "WARNING: {}{}\n", outcome.error().message,
           outcome.error().hint.empty() ? "" : fmt::format(" ({})", outcome.error().hint));
}

}  // namespace spile::session
