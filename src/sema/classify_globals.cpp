// classify-globals: the cheapest way to share each global that keeps SystemTap's promise of atomic handlers (docs/architecture.md,
// "Pass 2"). Decided from all uses in the whole script, through functions as well.

#include "sema/elaboration.h"
#include "sema/global_uses.h"
#include "sema/thread_keys.h"

namespace spile::sema {

namespace {

struct Uses {
  Touch traced;      // in target and kernel probes
  Touch begin;       // in begin probes: before anything is armed
  Touch controller;  // in end, error and timer probes
  Sides sides;
};

void add(Touch& sum, const Touch& touch) {
  sum.read |= touch.read;
  sum.accumulated |= touch.accumulated;
  sum.written |= touch.written;
}

Sharing choose(const syntax::Global& global, const Uses& uses, bool keyed_by_thread) {
  if (!uses.sides.process && !uses.sides.kernel) return Sharing::kController;
  bool only_read = !uses.traced.accumulated && !uses.traced.written;
  bool fixed_later = !uses.controller.accumulated && !uses.controller.written;
  if (only_read && fixed_later) return Sharing::kReadOnly;
  bool only_added = uses.traced.accumulated && !uses.traced.read && !uses.traced.written;
  if (only_added && syntax::info(global.array_kind).can_be_shards) return Sharing::kSharded;
  return keyed_by_thread && !uses.sides.process ? Sharing::kByThread : Sharing::kLocked;
}

}  // namespace

const char* to_string(Sharing sharing) {
  switch (sharing) {
    case Sharing::kUnused:
      return "unused";
    case Sharing::kController:
      return "controller";
    case Sharing::kReadOnly:
      return "read-only";
    case Sharing::kSharded:
      return "sharded";
    case Sharing::kLocked:
      return "locked";
    case Sharing::kByThread:
      return "by thread";
  }
  return "?";
}

void classify_globals(Elaboration& e) {
  GlobalUses found;
  std::map<const syntax::Global*, Uses> all;
  for (const Probe& probe : e.program.probes) {
    if (probe.kind == ProbeKind::kNever) continue;
    for (const auto& [global, touch] : found.of(probe)) {
      Uses& uses = all[global];
      uses.sides.process |= probe.domain == Domain::kTarget;
      uses.sides.kernel |= probe.domain == Domain::kKernel;
      if (probe.domain != Domain::kController) add(uses.traced, touch);
      else add(probe.kind == ProbeKind::kBegin ? uses.begin : uses.controller, touch);
    }
  }
  e.program.sharing.assign(e.program.globals.size(), Sharing::kUnused);
  e.program.sides.assign(e.program.globals.size(), {});
  const std::set<const syntax::Global*> keyed = arrays_keyed_by_thread(e.program);
  for (const auto& [global, uses] : all) {
    e.program.sharing[global->index] = choose(*global, uses, keyed.contains(global));
    e.program.sides[global->index] = uses.sides;
  }
}

}  // namespace spile::sema
