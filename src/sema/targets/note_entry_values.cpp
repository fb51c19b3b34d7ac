// note-entry-values: finds which functions have to save which registers at their entry, because a handler in them reads the
// values.

#include <set>

#include "sema/terms/elaboration.h"

namespace spile::sema {

void note_entry_values(Elaboration& e) {
  std::set<std::pair<std::string, FileAddress>> functions;
  std::set<uint8_t> registers;
  for (const Probe& probe : e.program.probes) {
    if (probe.domain != Domain::kTarget) continue;
    auto note = [&](const location::Operations& ops, const std::string& module) {
      for (const location::Operation& op : ops) {
        const auto* value = std::get_if<location::EntryValue>(&op);
        if (!value) continue;
        functions.emplace(module, value->function);
        registers.insert(static_cast<uint8_t>(value->number));
      }
    };
    // Points of several modules don't share a binding with such a place of its own.
    for (const Binding& binding : probe.bindings) note(binding.ops, probe.points.front().site.module);
    for (size_t point = 0; point < probe.tables.size(); ++point) {
      for (const PointSlot& slot : probe.tables[point]) {
        for (const PointVariable& variable : slot) note(variable.ops, probe.points[point].site.module);
      }
    }
  }
  std::vector<KeptFunction> kept;
  for (const auto& [module, address] : functions) kept.push_back({module, address});
  e.program.sites.keep(std::move(kept), {registers.begin(), registers.end()});
}

}  // namespace spile::sema
