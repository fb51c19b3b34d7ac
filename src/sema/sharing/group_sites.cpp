// group-sites: all probes at one place of a traced program share one trampoline. Places with the same probes share one
// compiled handler: 2,000 functions of one `process.function("*")` are one group.

#include "sema/terms/elaboration.h"

namespace spile::sema {

namespace {

struct Visitors {
  const Site* site;
  FileAddress semaphore;
  std::vector<std::pair<int, int>> entries;  // probe, point
  std::vector<std::pair<int, int>> returns;
};

}  // namespace

void group_sites(Elaboration& e) {
  std::vector<Visitors> places;
  size_t points = 0;
  for (const Probe& probe : e.program.probes) points += probe.domain == Domain::kTarget ? probe.points.size() : 0;
  places.reserve(points);
  std::unordered_map<std::string, std::unordered_map<uint64_t, size_t>> by_place;  // module, address
  for (const Probe& probe : e.program.probes) {
    if (probe.domain != Domain::kTarget) continue;
    for (size_t point = 0; point < probe.points.size(); ++point) {
      const Site& site = probe.points[point].site;
      auto [known, added] = by_place[site.module].emplace(site.address.value, places.size());
      if (added) places.push_back({&site, {}, {}, {}});
      Visitors& visitors = places[known->second];
      if (site.semaphore.value != 0) visitors.semaphore = site.semaphore;
      // All calls pass one site; a handler for some of them finds its point by the call's number.
      if (is_system_call(probe.kind) && point > 0) continue;
      auto& side = probe.kind == ProbeKind::kFunctionReturn ? visitors.returns : visitors.entries;
      side.emplace_back(probe.index, static_cast<int>(point));
    }
  }

  std::map<std::tuple<std::vector<int>, std::vector<int>, bool>, int> by_probes;
  e.program.sites.reserve(places.size());
  for (Visitors& visitors : places) {
    SiteGroup group;
    ArmedSite armed{*visitors.site, 0, {}};
    armed.site.semaphore = visitors.semaphore;
    group.go = visitors.site->go;
    for (auto [probe, point] : visitors.entries) {
      group.entry_probes.push_back(probe);
      ProbeKind kind = e.program.probes[static_cast<size_t>(probe)].kind;
      group.inside_function |= kind == ProbeKind::kStatement;
      if (kind == ProbeKind::kSystemCall) group.system_call = SiteGroup::kCall;
      if (kind == ProbeKind::kSystemCallReturn) group.system_call = SiteGroup::kReturnOfCall;
      armed.points.push_back(point);
    }
    for (auto [probe, point] : visitors.returns) {
      group.return_probes.push_back(probe);
      armed.points.push_back(point);
    }
    auto [known, added] = by_probes.emplace(std::tuple{group.entry_probes, group.return_probes, group.go},
                                            static_cast<int>(e.program.site_groups.size()));
    armed.group = known->second;
    if (added) e.program.site_groups.push_back(std::move(group));
    e.program.sites.add(std::move(armed));
  }
}

}  // namespace spile::sema
