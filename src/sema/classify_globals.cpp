// classify-globals: the cheapest way to share each global that keeps SystemTap's promise of atomic handlers (docs/architecture.md,
// "Pass 2"). Decided from all uses in the whole script, through functions as well.

#include "sema/elaboration.h"
#include "sema/global_uses.h"
#include "sema/thread_keys.h"

namespace spile::sema {

namespace {

struct Sides {
  Touch traced;      // in target and kernel probes
  Touch begin;       // in begin probes: before anything is armed
  Touch controller;  // in end, error and timer probes
  bool in_traced = false;
  bool in_process = false;  // by jumps
};

void add(Touch& sum, const Touch& touch) {
  sum.read |= touch.read;
  sum.accumulated |= touch.accumulated;
  sum.written |= touch.written;
}

Sharing choose(const syntax::Global& global, const Sides& sides, bool keyed_by_thread) {
  if (!sides.in_traced) return Sharing::kController;
  bool only_read = !sides.traced.accumulated && !sides.traced.written;
  bool fixed_later = !sides.controller.accumulated && !sides.controller.written;
  if (only_read && fixed_later) return Sharing::kReadOnly;
  bool only_added = sides.traced.accumulated && !sides.traced.read && !sides.traced.written;
  if (only_added && syntax::info(global.array_kind).can_be_shards) return Sharing::kSharded;
  return keyed_by_thread && !sides.in_process ? Sharing::kByThread : Sharing::kLocked;
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
  GlobalUses uses;
  std::map<const syntax::Global*, Sides> all;
  for (const Probe& probe : e.program.probes) {
    if (probe.kind == ProbeKind::kNever) continue;
    for (const auto& [global, touch] : uses.of(probe)) {
      Sides& sides = all[global];
      if (probe.domain != Domain::kController) {
        sides.in_traced = true;
        sides.in_process |= probe.domain == Domain::kTarget;
        add(sides.traced, touch);
      } else {
        add(probe.kind == ProbeKind::kBegin ? sides.begin : sides.controller, touch);
      }
    }
  }
  e.program.sharing.assign(e.program.globals.size(), Sharing::kUnused);
  const std::set<const syntax::Global*> keyed = arrays_keyed_by_thread(e.program);
  for (const auto& [global, sides] : all) e.program.sharing[global->index] = choose(*global, sides, keyed.contains(global));
}

}  // namespace spile::sema
