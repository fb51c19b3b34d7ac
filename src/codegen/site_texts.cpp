#include "codegen/site_texts.h"

#include <map>

namespace spile::codegen {

std::string text_of(const sema::ResolvedPoint& point, const std::string& what) {
  if (what == "pp") return point.text;
  if (what == "pn") return point.name.empty() ? point.text : point.name;
  return point.site.function;
}

namespace {

// Which of the probe's points every site is; -1: none.
std::vector<std::vector<int>> points_by_site(const sema::Program& program) {
  std::vector<std::vector<int>> points(program.probes.size());
  for (size_t site = 0; site < program.sites.size(); ++site) {
    const sema::ArmedSite& armed = program.sites[site];
    const sema::SiteGroup& group = program.site_groups[static_cast<size_t>(armed.group)];
    size_t position = 0;
    auto note = [&](int probe) {
      std::vector<int>& of_probe = points[static_cast<size_t>(probe)];
      if (of_probe.empty()) of_probe.assign(program.sites.size(), 0);
      if (position < armed.points.size()) of_probe[site] = armed.points[position];
      ++position;
    };
    for (int probe : group.entry_probes) note(probe);
    for (int probe : group.return_probes) note(probe);
  }
  return points;
}

}  // namespace

// Fills in offsets, base and mask: offset_of says what stands for a point (null: the probe has none).
template <typename Tables, typename OffsetOf>
static void add_offsets(const sema::Program& program, Tables& tables, OffsetOf&& offset_of) {
  std::vector<std::vector<int>> points = points_by_site(program);
  for (size_t i = 0; i < program.probes.size(); ++i) {
    const sema::Probe& probe = program.probes[i];
    tables.base.push_back(static_cast<uint32_t>(tables.offsets.size()));
    if (probe.points.size() > 1 && sema::is_for_some_calls(probe)) {  // the number of the point is that of the site
      tables.mask.push_back(~0u);
      for (const sema::ResolvedPoint& point : probe.points) tables.offsets.push_back(offset_of(&point));
      continue;
    }
    bool many = probe.points.size() > 1 && !points[i].empty();
    tables.mask.push_back(many ? ~0u : 0);
    if (!many) {
      tables.offsets.push_back(offset_of(probe.points.empty() ? nullptr : &probe.points[0]));
      continue;
    }
    for (int point : points[i]) tables.offsets.push_back(offset_of(&probe.points[static_cast<size_t>(point)]));
  }
}

SiteTexts make_site_texts(const sema::Program& program, const std::string& what, uint32_t string_size) {
  SiteTexts texts;
  std::map<std::string, uint32_t> known;
  add_offsets(program, texts, [&](const sema::ResolvedPoint* point) {
    std::string text = point ? text_of(*point, what) : "";
    auto [entry, fresh] = known.emplace(text.substr(0, string_size - 1), static_cast<uint32_t>(texts.blob.size()));
    if (fresh) texts.blob.append(entry->first.c_str(), entry->first.size() + 1);
    return entry->second;
  });
  return texts;
}

SiteCallers make_site_callers(const sema::Program& program) {
  SiteCallers callers;
  std::map<std::vector<uint64_t>, uint32_t> known;
  add_offsets(program, callers, [&](const sema::ResolvedPoint* point) -> uint32_t {
    if (!point || !point->site.callers) return 0;
    auto [entry, fresh] = known.emplace(*point->site.callers, static_cast<uint32_t>(callers.words.size()));
    if (fresh) callers.words.insert(callers.words.end(), entry->first.begin(), entry->first.end());
    return entry->second;
  });
  return callers;
}

}  // namespace spile::codegen
