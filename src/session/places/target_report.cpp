#include "session/places/target_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/messages.h"

namespace spile::session {

namespace {

// A probe that is not a return probe.
bool has_entries(const sema::Program& program, const sema::ArmedSite& armed) {
  return !program.site_groups[static_cast<size_t>(armed.group)].entry_probes.empty();
}

// The script names the function, rather than a pattern that it fits, and without `?`.
bool names_return(const sema::Program& program, const sema::ArmedSite& armed) {
  const sema::SiteGroup& group = program.site_groups[static_cast<size_t>(armed.group)];
  for (size_t i = 0; i < group.return_probes.size(); ++i) {
    const sema::Probe& probe = program.probes[static_cast<size_t>(group.return_probes[i])];
    const sema::ResolvedPoint& point = probe.points[static_cast<size_t>(armed.points[group.entry_probes.size() + i])];
    if (!point.optional && point.name.find_first_of("*?[!") == point.name.npos && point.name.find(".callee") == point.name.npos)
      return true;
  }
  return false;
}

bool is_refusal(const engine::SiteOutcome& outcome) { return outcome.mechanism == engine::Mechanism::kRefused; }

// Each process has an outcome for the same place.
using SeenPlaces = std::set<std::tuple<std::string, uint64_t, std::string>>;
bool is_new(SeenPlaces& seen, const sema::Site& site, const engine::SiteOutcome& outcome) {
  return seen.emplace(site.module, site.address.value, outcome.reason).second;
}

}  // namespace

void TargetReport::print_unclear_entries(const KeptEntries& kept) const {
  for (size_t index : kept.unclear) {
    const sema::KeptFunction& function = program_.sites.kept_functions()[index];
    note(fmt::format("{}+{:#x}: values of this function's entry are not known, as it jumps back to its first instruction.",
                     function.module, function.address.value));
  }
}

// Reports an entry at which registers are kept for other probes, and what these will miss where it is refused.
void TargetReport::print_kept(const engine::SiteOutcome& outcome) const {
  const sema::KeptFunction* function = program_.sites.kept_function(outcome.site_id);
  if (!function) return;
  if (is_refusal(outcome)) {
    warn(fmt::format("variables that depend on a register's value at the entry of the function at {:#x} in {} can't be read: {}",
                     function->address.value, function->module, outcome.reason));
  } else if (verbosity_ > 1) {
    note(fmt::format("pid {}: registers are kept at the entry {}+{:#x}: {}", outcome.pid, function->module,
                     function->address.value, engine::mechanism_name(outcome.mechanism)));
  }
}

// Prints one line for many functions that are refused for the same reason.
void TargetReport::warn_of_returns(const engine::ArmReport& report) const {
  constexpr size_t kNamed = 3;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> functions;  // by module and reason
  SeenPlaces seen;
  for (const engine::SiteOutcome& outcome : report.outcomes) {
    const sema::ArmedSite* armed = program_.sites.script_site(outcome.site_id);
    if (!outcome.only_returns || !armed || !is_new(seen, armed->site, outcome)) continue;
    functions[{armed->site.module, outcome.reason}].push_back(armed->site.function);
  }
  for (const auto& [place, names] : functions) {
    const auto& [module, reason] = place;
    if (verbosity_ > 1 || names.size() <= kNamed) {
      for (const std::string& name : names) warn(fmt::format("returns of {} in {} can't be probed: {}", name, module, reason));
    } else {
      warn(fmt::format("returns of {} functions in {} ({}, ...) can't be probed: {}", names.size(), module,
                       fmt::join(names.begin(), names.begin() + kNamed, ", "), reason));
    }
  }
}

void TargetReport::print(const engine::ArmReport& report, bool initial) {
  std::map<std::string, size_t> by_mechanism;
  SeenPlaces seen;
  // An entry at which only returns can't be probed is still a place of its other probes.
  auto has_entry = [&](const engine::SiteOutcome& outcome) {
    const sema::ArmedSite* armed = program_.sites.script_site(outcome.site_id);
    return outcome.only_returns && armed && has_entries(program_, *armed);
  };
  const size_t sites = report.outcomes.size() - static_cast<size_t>(std::ranges::count_if(report.outcomes, has_entry));
  warn_of_returns(report);
  for (const engine::SiteOutcome& outcome : report.outcomes) {
    print_kept(outcome);
    if (has_entry(outcome)) continue;
    const sema::ArmedSite* armed = program_.sites.script_site(outcome.site_id);
    if (!armed) continue;  // an unwinder's entry, say
    const sema::Site& site = armed->site;
    ++by_mechanism[engine::mechanism_name(outcome.mechanism)];
    ++places_by_mechanism_[engine::mechanism_name(outcome.mechanism)];
    if (outcome.only_returns) continue;
    if (is_refusal(outcome) && (verbosity_ > 1 || refusals_printed_ < kMostRefusals) && shows_warnings()) {
      if (!is_new(seen, site, outcome)) continue;
      ++refusals_printed_;
      warn(fmt::format("{} in {} can't be probed: {}", site.function, site.module, outcome.reason));
      if (refusals_printed_ == kMostRefusals && verbosity_ < 2) warn("(more with -vv)");
    } else if (verbosity_ > 0 && (sites <= 100 || verbosity_ > 1)) {
      note(fmt::format("pid {}: {} {}+{:#x}: {}", outcome.pid, site.function, site.module, site.address.value,
                       engine::mechanism_name(outcome.mechanism)));
    }
  }
  print_sum(report, sites, by_mechanism, initial);
}

void TargetReport::print_sum(const engine::ArmReport& report, size_t sites, const std::map<std::string, size_t>& by_mechanism,
                             bool initial) const {
  if (verbosity_ > 0) {
    std::string mechanisms;
    for (const auto& [name, count] : by_mechanism)
      mechanisms += fmt::format("{}{} by {}", mechanisms.empty() ? "" : ", ", count, name);
    note(fmt::format("Armed {} of {} sites{}: {}; prepared in {:.1f} ms, target paused {:.1f} ms.", report.armed(), sites,
                     initial ? "" : " in new code", mechanisms, static_cast<double>(report.prepare_ns) / 1e6,
                     static_cast<double>(report.pause_ns) / 1e6));
    return;
  }
  const auto refused = by_mechanism.find(engine::mechanism_name(engine::Mechanism::kRefused));
  if (refused != by_mechanism.end() && refused->second > kMostRefusals)
    warn(fmt::format("{} of {} sites can't be probed", refused->second, sites));
}

Result<void> require_named_returns(const sema::Program& program, const engine::ArmReport& report) {
  for (const engine::SiteOutcome& outcome : report.outcomes) {
    const sema::ArmedSite* armed = program.sites.script_site(outcome.site_id);
    if (!outcome.only_returns || !armed || !names_return(program, *armed) || has_entries(program, *armed)) continue;
    return Error{fmt::format("function '{}' of {} can't be probed at its return: {}", armed->site.function, armed->site.module,
                             outcome.reason),
                 "leave out '.return', or use a pattern, which skips such functions"};
  }
  return {};
}

Result<void> require_some_place(const sema::Program& program, const engine::ArmReport& report, size_t wanted) {
  size_t answered = 0, armed = 0;
  for (const engine::SiteOutcome& outcome : report.outcomes) {
    if (!program.sites.script_site(outcome.site_id)) continue;
    ++answered;
    armed += !is_refusal(outcome);
  }
  if (wanted != 0 && answered >= wanted && armed == 0)
    return Error{fmt::format("none of the {} places could be probed", wanted), "see the warnings above"};
  return {};
}

}  // namespace spile::session
