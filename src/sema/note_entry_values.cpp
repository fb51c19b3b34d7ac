// note-entry-values: finds which functions have to save which registers at their entry, because a handler in them reads the values.

#include <set>

#include "sema/elaboration.h"

namespace spile::sema {

void note_entry_values(Elaboration& e) {
  std::set<std::pair<std::string, FileAddress>> functions;
  std::set<uint8_t> registers;
  for (const Probe& probe : e.program.probes) {
    if (probe.domain != Domain::kTarget) continue;
    for (const Binding& binding : probe.bindings) {
      for (const location::Operation& op : binding.ops) {
        const auto* value = std::get_if<location::EntryValue>(&op);
        if (!value) continue;
        // Points of several modules don't share such a binding.
        functions.emplace(probe.points.front().site.module, value->function);
        registers.insert(static_cast<uint8_t>(value->number));
      }
    }
  }
  std::vector<KeptFunction> kept;
  for (const auto& [module, address] : functions) kept.push_back({module, address});
  e.program.sites.keep(std::move(kept), {registers.begin(), registers.end()});
}

}  // namespace spile::sema
