#include "session/live/controller_probes.h"

#include <algorithm>

#include "abi/time_counter.h"
#include "base/clock.h"
#include "base/messages.h"
#include "session/places/process_watch.h"

namespace spile::session {

ControllerProbes::ControllerProbes(const RunParts& parts, const EndConditions& ends)
    : parts_(parts), ends_(ends), hits_(parts.program.probes.size()) {}

Result<void> ControllerProbes::fetch_globals() {
  const uint64_t lost = parts_.controller.lost_updates();
  if (parts_.shares_arena()) {
    parts_.output.records().collect(parts_.arena);  // merging waits for handlers, and these may wait for room in their rings
    parts_.controller.merge();
  }
  if (parts_.kernel) TRY_DO(parts_.kernel->import_globals(parts_.controller));
  if (parts_.controller.lost_updates() != lost) parts_.output.errors().raise_overflow();
  return {};
}

Result<void> ControllerProbes::run(int probe) {
  TRY_DO(fetch_globals());
  ++hits_[static_cast<size_t>(probe)];
  parts_.controller.run_probe(probe);
  switch_conditions();
  if (parts_.kernel) TRY_DO(parts_.kernel->export_globals(parts_.controller));
  // Text that handlers elsewhere printed earlier is written earlier.
  RecordQueue& records = parts_.output.records();
  if (parts_.shares_arena()) records.collect(parts_.arena);
  records.collect_controller(parts_.arena);
  records.hand_on(true);
  return {};
}

void ControllerProbes::switch_conditions() {
  if (!parts_.target || !parts_.has_target_probes()) return;
  parts_.target->switch_conditions([this](int probe) { return parts_.controller.condition_holds(probe); });
}

Result<void> ControllerProbes::run_all(sema::ProbeKind kind) {
  struct Ordered {
    int64_t sequence;
    int probe;
    bool once;
  };
  std::vector<Ordered> ordered;
  // The report of globals that the script never reads is printed after errors, too.
  auto is_of_kind = [&](const sema::Probe& probe) {
    return probe.kind == kind || (kind == sema::ProbeKind::kError && probe.kind == sema::ProbeKind::kEnd && probe.is_report);
  };
  for (const sema::Probe& probe : parts_.program.probes) {
    if (!is_of_kind(probe)) continue;
    for (const sema::ResolvedPoint& point : probe.points) ordered.push_back({point.sequence, probe.index, point.once});
  }
  std::ranges::stable_sort(ordered, {}, &Ordered::sequence);
  for (const Ordered& each : ordered) {
    TRY_DO(run(each.probe));
    if (each.once) parts_.output.actions().request_exit();
    // exit() in a begin probe lets the remaining begin probes be; end probes all run.
    if (kind == sema::ProbeKind::kBegin && (ends_.exit_requested() || ends_.failed())) break;
  }
  return {};
}

void ControllerProbes::run_about(int probe, const abi::Subject& subject, int64_t at_ns) {
  if (ends_.exit_requested() || ends_.failed()) return;
  abi::Subject& about = parts_.arena.controller_state().subject;
  about = subject;
  about.module_map = parts_.target->module_map_of(static_cast<pid_t>(subject.pid), at_ns);
  const Result<void> ran = run(probe);
  about.active = 0;
  if (!ran.ok()) warn(ran.error().message);
}

// A sample has the thread's number and registers; its name is read from /proc now.
void ControllerProbes::run_sample(int probe, const abi::Subject& sample, std::span<const char> stack) {
  abi::Subject subject = sample;
  subject.time_ns = parts_.arena.time_of(abi::time_counter()) - (monotonic_ns() - sample.time_ns);
  subject.stack_size = parts_.arena.keep_stack(stack);
  describe_thread(subject, static_cast<pid_t>(sample.pid), static_cast<pid_t>(sample.tid));
  run_about(probe, subject, sample.time_ns);
}

}  // namespace spile::session
