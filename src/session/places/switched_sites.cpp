#include "session/places/switched_sites.h"

#include <fmt/format.h>

#include <algorithm>

#include "abi/trampoline.h"
#include "base/messages.h"

namespace spile::session {

namespace {

// Whether `is` holds for a probe of the group.
template <typename Predicate>
bool any_probe(const sema::SiteGroup& group, Predicate is) {
  return std::ranges::any_of(group.entry_probes, is) || std::ranges::any_of(group.return_probes, is);
}

}  // namespace

SwitchedSites::SwitchedSites(const sema::Program& program, const codegen::CompiledScript& script, int verbosity)
    : program_(program), script_(script), verbosity_(verbosity) {
  for (const sema::Probe& probe : program.probes) {
    if (probe.switched) conditions_[probe.index] = true;
  }
  std::map<int, size_t> known;  // into groups_, by index
  for (size_t id = 0; id < program.sites.size(); ++id) {
    const int group = program.sites[id].group;
    if (!(script.target.groups[static_cast<size_t>(group)].flags & abi::kSwitchable)) continue;
    auto [at, fresh] = known.try_emplace(group, groups_.size());
    if (fresh) groups_.push_back({.index = group});
    groups_[at->second].sites.push_back(static_cast<uint32_t>(id));
  }
}

void SwitchedSites::update(engine::Engine& engine, const std::function<bool(int probe)>& holds) {
  // Each condition is evaluated, since evaluating it also makes handlers see the result.
  for (auto& [probe, holds_now] : conditions_) holds_now = holds(probe);
  auto wanted = [&](int probe) {
    const auto known = conditions_.find(probe);
    return known == conditions_.end() || known->second;
  };
  std::vector<uint32_t> turned[2];
  for (Group& group : groups_) {
    const bool on = any_probe(program_.site_groups[static_cast<size_t>(group.index)], wanted);
    if (on == group.on) continue;
    group.on = on;
    turned[on].insert(turned[on].end(), group.sites.begin(), group.sites.end());
  }
  for (bool on : {false, true}) {
    if (turned[on].empty()) continue;
    engine.switch_sites(turned[on], on);
    if (verbosity_ > 1) note(fmt::format("Switched {} sites {}.", turned[on].size(), on ? "on" : "off"));
  }
}

void SwitchedSites::print() const {
  size_t switched = 0, tested = 0;
  for (const sema::ArmedSite& armed : program_.sites) {
    auto conditional = [&](int probe) { return program_.probes[static_cast<size_t>(probe)].condition != nullptr; };
    const auto group = static_cast<size_t>(armed.group);
    if (script_.target.groups[group].flags & abi::kSwitchable) ++switched;
    else if (any_probe(program_.site_groups[group], conditional)) ++tested;
  }
  if (switched > 0) note(fmt::format("{} sites are switched on and off as the conditions of their probes change.", switched));
  if (tested > 0) note(fmt::format("{} sites test the conditions of their probes at each hit, which can change there.", tested));
}

}  // namespace spile::session
