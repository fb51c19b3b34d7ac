#include "session/serve/session_status.h"

#include <algorithm>

#include "session/arena/skips.h"

namespace spile::session {

namespace {

const char* name_of(sema::Domain domain) {
  switch (domain) {
    case sema::Domain::kTarget: return "process";
    case sema::Domain::kKernel: return "kernel";
    default: return "spile";
  }
}

// Processes write these words, so a sum may be anything; it is only shown.
uint64_t hits_in_processes(ArenaView& arena, uint32_t counter) {
  uint64_t sum = 0;
  arena.for_each_used_slot([&](uint32_t index) {
    if (arena.is_kernels(index)) return;
    const char* at = reinterpret_cast<const char*>(&arena.slot(index)) + counter;
    sum += __atomic_load_n(reinterpret_cast<const uint64_t*>(at), __ATOMIC_RELAXED);
  });
  return sum;
}

bool is_armed(const sema::Probe& probe) {
  using sema::ProbeKind;
  return !probe.is_report && probe.kind != ProbeKind::kNever && probe.kind != ProbeKind::kBegin &&
         probe.kind != ProbeKind::kEnd && probe.kind != ProbeKind::kError;
}

}  // namespace

std::string point_text(const sema::Probe& probe) {
  if (probe.points.empty()) return {};
  const sema::ResolvedPoint& first = probe.points.front();
  return probe.points.size() == 1 || first.name.empty() ? first.text : first.name;
}

const char* place_of(const sema::Probe& probe) { return name_of(probe.domain); }

std::optional<uint64_t> hits_of(const sema::Probe& probe, const codegen::CompiledScript& script, ArenaView& arena,
                                std::span<const uint64_t> runs) {
  const auto index = static_cast<size_t>(probe.index);
  if (probe.domain == sema::Domain::kController) return index < runs.size() ? runs[index] : 0;
  const bool is_counted =
      probe.domain == sema::Domain::kTarget && index < script.hit_counters.size() && script.hit_counters[index] != 0;
  return is_counted ? std::optional(hits_in_processes(arena, script.hit_counters[index])) : std::nullopt;
}

SessionStatus describe_session(const sema::Program& program, const codegen::CompiledScript& script, ArenaView& arena,
                               std::span<const uint64_t> runs, std::vector<pid_t> processes, int64_t since) {
  SessionStatus status;
  status.since = since;
  status.processes_left_out = processes.size() - std::min(processes.size(), kMostListed);
  processes.resize(std::min(processes.size(), kMostListed));
  status.processes = std::move(processes);
  status.skipped = count_skips(arena).skipped_probes();
  std::optional<uint64_t> of_twin;  // of the same system calls, where their handlers run in the process
  for (const sema::Probe& probe : program.probes) {
    std::optional<uint64_t> hits = hits_of(probe, script, arena, runs);
    if (sema::is_call_in_target(probe)) {
      of_twin = hits;
      continue;
    }
    if (hits && of_twin) hits = *hits + *of_twin;
    of_twin.reset();
    if (!is_armed(probe) || probe.points.empty()) continue;
    if (probe.domain == sema::Domain::kKernel && status.processes.empty()) status.everywhere = true;
    if (status.probes.size() == kMostListed) {
      ++status.probes_left_out;
      continue;
    }
    status.probes.push_back(
        {point_text(probe), probe.points.size(), probe.range.file ? probe.range.to_string() : "", place_of(probe), hits});
  }
  return status;
}

}  // namespace spile::session
