// classify-globals: the cheapest way to share each global that keeps SystemTap's promise of atomic handlers
// (docs/architecture.md, "Pass 2"). Decided from all uses in the whole script, through functions as well.

#include "abi/thread_cells.h"
#include "sema/sharing/global_uses.h"
#include "sema/sharing/single_steps.h"
#include "sema/sharing/thread_keys.h"
#include "sema/terms/elaboration.h"
#include "sema/terms/recorded.h"

namespace spile::sema {

namespace {

struct Uses {
  Touch traced;      // in target and kernel probes
  Touch begin;       // in begin probes: before anything is armed
  Touch controller;  // in end, error and timer probes
  Sides sides;
  bool controlled = false;  // any handler in the controller uses it
};

void add(Touch& sum, const Touch& touch) {
  sum.read |= touch.read;
  sum.accumulated |= touch.accumulated;
  sum.summed |= touch.summed;
  sum.written |= touch.written;
}

// A script counts on the number of elements of an array that says how many it has.
bool is_limited(const syntax::Global& global) { return global.declared_size || syntax::info(global.array_kind).evicts; }

bool fits_cells(const syntax::Global& global, const Uses& uses, const Limits& limits) {
  return global.type == ValueType::kLong && global.key_types.size() == 1 && !uses.controlled && !is_limited(global) &&
         limits.max_map_entries <= abi::kMostCells;
}

Sharing choose(const syntax::Global& global, const Uses& uses, const Limits& limits, bool keyed_by_thread, bool in_one_step) {
  if (!uses.sides.process && !uses.sides.kernel) return Sharing::kController;
  bool only_read = !uses.traced.accumulated && !uses.traced.written;
  bool fixed_later = !uses.controller.accumulated && !uses.controller.written;
  if (only_read && fixed_later) return Sharing::kReadOnly;
  bool only_added = uses.traced.accumulated && !uses.traced.read && !uses.traced.written;
  if (only_added && syntax::info(global.array_kind).can_be_shards) return Sharing::kSharded;
  if (in_one_step) return Sharing::kAtomic;
  if (!keyed_by_thread) return Sharing::kLocked;
  if (!uses.sides.process) return fits_cells(global, uses, limits) ? Sharing::kThreadCells : Sharing::kByThread;
  return is_limited(global) || uses.controlled ? Sharing::kLocked : Sharing::kStriped;
}

// What a handler does with several globals is one step only under their locks.
void lock_together(Program& program, GlobalUses& found) {
  for (const Probe& probe : program.probes) {
    if (probe.kind == ProbeKind::kNever) continue;
    std::vector<Sharing*> locked;
    bool written = false;
    for (const auto& [global, touch] : found.of(probe)) {
      Sharing& sharing = program.sharing[static_cast<size_t>(global->index)];
      if (!has_lock(sharing)) continue;
      locked.push_back(&sharing);
      written |= touch.written || touch.accumulated;
    }
    if (locked.size() < 2 || runs_apart(probe, written)) continue;
    for (Sharing* sharing : locked) {
      if (*sharing == Sharing::kAtomic) *sharing = Sharing::kLocked;
    }
  }
}

}  // namespace

const char* to_string(Sharing sharing) {
  switch (sharing) {
    case Sharing::kUnused: return "unused";
    case Sharing::kController: return "controller";
    case Sharing::kReadOnly: return "read-only";
    case Sharing::kSharded: return "sharded";
    case Sharing::kLocked: return "locked";
    case Sharing::kAtomic: return "atomic";
    case Sharing::kByThread: return "by thread";
    case Sharing::kThreadCells: return "cells of threads";
    case Sharing::kStriped: return "striped";
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
      const bool controlled = probe.domain == Domain::kController;
      uses.controlled |= controlled;
      add(!controlled ? uses.traced : probe.kind == ProbeKind::kBegin ? uses.begin : uses.controller, touch);
    }
  }
  e.program.sharing.assign(e.program.globals.size(), Sharing::kUnused);
  e.program.sides.assign(e.program.globals.size(), {});
  e.program.counts_updates.assign(e.program.globals.size(), false);
  const std::set<const syntax::Global*> keyed = arrays_keyed_by_thread(e.program);
  const std::set<const syntax::Global*> numbers = numbers_of_one_step(e.program);
  if (is_recorded(e.program)) {
    for (auto& [global, uses] : all) uses.controlled = uses.controller.read = true;
  }
  for (const auto& [global, uses] : all) {
    e.program.sharing[global->index] = choose(*global, uses, e.program.limits, keyed.contains(global), numbers.contains(global));
    e.program.sides[global->index] = uses.sides;
    e.program.counts_updates[global->index] = e.program.sharing[global->index] == Sharing::kSharded && global->is_array &&
                                              global->type == ValueType::kLong && uses.traced.summed;
  }
  lock_together(e.program, found);
}

}  // namespace spile::sema
