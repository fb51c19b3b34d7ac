#include "session/places/kernel_targets.h"

#include <fmt/format.h>
#include <linux/auxvec.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <utility>

#include "base/messages.h"
#include "base/processes/proc.h"
#include "session/places/process_watch.h"

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

Result<void> KernelTargets::follow(pid_t pid, pid_t tid, const std::string& program) {
  threads_[pid].insert(tid);
  return kernel_->follow(tid, program);
}

void KernelTargets::unfollow(pid_t pid) {
  for (pid_t tid : threads_[pid]) kernel_->unfollow(tid);
  threads_.erase(pid);
}

Result<void> KernelTargets::add(pid_t pid) {
  TRY_DO(kernel_->add_process(pid));
  const std::string program = program_of(pid);
  for (pid_t tid : threads_of(pid)) TRY_DO(follow(pid, tid, program));
  return {};
}

namespace {

// Whether the kernel has given the program rights of its own (set-uid and the like): it has then taken the thread's events away.
bool has_own_rights(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/auxv", pid), std::ios::binary);
  uint64_t entry[2];
  while (file.read(reinterpret_cast<char*>(entry), sizeof entry)) {
    if (entry[0] == AT_SECURE) return entry[1] != 0;
  }
  return true;
}

}  // namespace

// The first thread goes on counting. Of several threads, the one that has executed the program takes the number of the first,
// with its own events.
void KernelTargets::after_execution(pid_t pid) {
  const std::set<pid_t>& known = threads_[pid];
  const bool goes_on = known.size() == 1 && known.contains(pid) && !has_own_rights(pid);
  if (!goes_on) unfollow(pid);
  warn(add(pid));
}

void KernelTargets::on_change(const engine::ThreadChange& change) {
  if (!kernel_) return;
  using Kind = engine::ThreadChange::Kind;
  switch (change.kind) {
    case Kind::kProcessBorn:
      unfollow(change.pid);  // another process that had the number
      return warn(add(change.pid));
    case Kind::kExecuted: return after_execution(change.pid);
    case Kind::kThreadBorn: kernel_->unfollow(change.tid); return warn(follow(change.pid, change.tid, program_of(change.pid)));
    case Kind::kProcessEnded: kernel_->drop_process(change.pid); return unfollow(change.pid);
    case Kind::kThreadEnded: threads_[change.pid].erase(change.tid); return kernel_->unfollow(change.tid);
    default: return;
  }
}

void KernelTargets::catch_up(const std::vector<pid_t>& processes) {
  if (!kernel_) return;
  for (pid_t pid : processes) {
    unfollow(pid);
    warn(add(pid));
  }
}

void KernelTargets::warn(const Result<void>& outcome) {
  if (outcome.ok() || std::exchange(warned_, true)) return;
  const Error& error = outcome.error();
  spile::warn(error.message + (error.hint.empty() ? "" : fmt::format(" ({})", error.hint)));
}

}  // namespace spile::session
