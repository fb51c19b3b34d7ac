#include "session/places/placed_sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text/number_text.h"

namespace spile::session {

namespace {

// "a, b and 3 more".
std::string names_of(const std::map<std::string, size_t>& files) {
  constexpr size_t kMost = 3;
  std::string text;
  size_t count = 0;
  for (const auto& [path, sites] : files) {
    if (count < kMost) text += (text.empty() ? "" : ", ") + path;
    ++count;
  }
  return count > kMost ? text + fmt::format(" and {} more", count - kMost) : text;
}

}  // namespace

void PlacedSites::note(const engine::ArmReport& report) {
  for (const engine::SiteOutcome& outcome : report.outcomes) {
    const sema::ArmedSite* armed = program_.sites.script_site(outcome.site_id);
    if (!armed) continue;
    met_.insert(armed->site.module);
    placed_.insert(outcome.pid);
    executed_.erase(outcome.pid);
    without_places_.erase(outcome.pid);
    if (!named_.contains(outcome.pid)) without_places_.clear();
  }
}

void PlacedSites::note_exec(pid_t pid, const std::string& path) {
  // The exec that begins a command is reported after the command's sites.
  if (wanted().contains(path)) return;
  if (placed_.erase(pid) > 0) executed_[pid] = {path, Clock::now()};
}

std::map<std::string, size_t> PlacedSites::wanted() const {
  std::map<std::string, size_t> files;
  for (const sema::ArmedSite& armed : program_.sites) {
    if (!armed.site.module.empty()) ++files[armed.site.module];
  }
  return files;
}

void PlacedSites::expect_places_in(const std::set<pid_t>& processes) {
  expected_since_ = Clock::now();
  named_ = processes;
  if (wanted().empty() || std::ranges::any_of(placed_, [&](pid_t pid) { return !processes.contains(pid); })) return;
  std::ranges::set_difference(processes, placed_, std::inserter(without_places_, without_places_.end()));
}

std::vector<std::string> PlacedSites::still_without_places(Clock::duration since) {
  std::vector<std::string> warnings;
  if (without_places_.empty() || Clock::now() - expected_since_ < since) return warnings;
  const std::string files = names_of(wanted());
  for (pid_t pid : std::exchange(without_places_, {}))
    warnings.push_back(
        fmt::format("process {} has not loaded {}, which the script probes; hits are counted once that is loaded", pid, files));
  return warnings;
}

std::vector<std::string> PlacedSites::left_by_exec(Clock::duration since) {
  std::vector<std::string> warnings;
  std::erase_if(executed_, [&](const auto& process) {
    auto& [pid, executed] = process;
    if (Clock::now() - executed.at < since) return false;
    warnings.push_back(fmt::format("process {} now executes {}, which the script does not probe", pid, executed.path));
    return true;
  });
  return warnings;
}

std::vector<std::string> PlacedSites::never_loaded() const {
  std::map<std::string, size_t> files = wanted();
  std::erase_if(files, [&](const auto& file) { return met_.contains(file.first); });
  if (files.empty()) return {};
  size_t places = 0;
  for (const auto& [path, sites] : files) places += sites;
  return {fmt::format("{} {} never loaded by a traced process: {} of the script's {} probed {} never in place", names_of(files),
                      plural(files.size(), "was", "were"), places, program_.sites.size(),
                      plural(places, "place was", "places were"))};
}

}  // namespace spile::session
