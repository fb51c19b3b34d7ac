#include "engine/site_builder.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <set>

#include "engine/breakpoints.h"
#include "engine/site_layout.h"

namespace spile::engine {
namespace {

constexpr uint64_t kAlignmentRoom = 16;

void enter_in_journal(const PatchedSite& site, Region& region) {
  JournalEntry entry{};
  entry.address = site.begin.value;
  memcpy(entry.original, site.original, kMaxPatch);
  memcpy(entry.patched, site.patched, kMaxPatch);
  entry.length = site.overwritten;
  entry.semaphore = site.semaphore.value;
  entry.landing = site.landing.value;
  entry.trampoline_offset = static_cast<uint32_t>(site.trampoline - region.address());
  region.append_journal(entry);
}

// Emits what the groups of one module need into a region.
class Emission {
 public:
  Emission(const Module& module, std::span<const SiteRequest> requests, std::vector<Group>& groups, Region& region,
           const StubSource& stubs)
      : module_(module), requests_(requests), groups_(groups), region_(region), stubs_(stubs) {}

  // One site, or two: a short jump and its landing. Tries a breakpoint where a better patch fails.
  Result<std::vector<PatchedSite>> emit(size_t index) {
    Group& group = groups_[index];
    auto emitted = try_emit(index);
    bool last = group.plan.mechanism == Mechanism::kInt3 || group.absorbed != 0;
    if (emitted.ok() || last) return emitted;
    fall_back(group, group.original, 1);
    if (group.plan.mechanism == Mechanism::kRefused) return Error{group.plan.reason, ""};
    return try_emit(index);
  }

 private:
  std::vector<Fragment> fragments(size_t index) const {
    std::vector<Fragment> made;
    for (size_t i = index; i <= index + groups_[index].absorbed; i++) {
      uint8_t offset = static_cast<uint8_t>(i == index ? 0 : groups_[i].entry - groups_[index].plan.begin);
      for (uint32_t request_index : groups_[i].requests) {
        const SiteRequest& request = requests_[request_index];
        if (request.kind == abi::SiteKind::kRoom) continue;
        made.push_back({request.kind, request.flags, request.site_id, region_.image() + request.enter_offset,
                        region_.image() + request.exit_offset, offset, module_.goroutine});
      }
    }
    return made;
  }
  Result<std::vector<PatchedSite>> try_emit(size_t index) {
    Group& group = groups_[index];
    const Architecture& machine = native_architecture();
    TRY(Trampoline trampoline, machine.emit_trampoline(group.plan, group.original, fragments(index), region_.next()));
    if (group.plan.mechanism == Mechanism::kPunned) {
      auto stub = stubs_(region_, group.plan.puns, region_.next());
      // Memory for the stub moves nothing else: region_.next() stands.
      if (!stub) return Error{"no room for a punned jump", ""};
      group.plan.landing = stub->at;
      group.plan.prefixes = stub->range.prefixes;
      group.plan.overwritten = stub->range.overwritten;
    }
    TRY(PatchedSite site, build_site(group.plan, group.original, trampoline, region_.next(), 0));
    for (size_t i = index; i <= index + group.absorbed; i++) note_requests(groups_[i], site);
    for (const Gate& gate : trampoline.gates) {
      region_.add_switch(gate.site_id, {region_.next() + gate.offset, gate.on, gate.off});
    }
    std::vector<PatchedSite> sites = {site};
    if (group.plan.mechanism == Mechanism::kShortJump && group.host == Address()) {
      SitePlan plan;
      plan.mechanism = Mechanism::kJump;
      plan.begin = group.plan.landing;
      plan.window = plan.overwritten = kLandingSize;
      TRY(PatchedSite landing, build_site(plan, group.padding, Trampoline{}, region_.next(), 0));
      landing.returns = site.returns;
      sites.push_back(landing);
    }
    region_.append_code(trampoline.code);
    return sites;
  }
  void note_requests(const Group& group, PatchedSite& site) const {
    for (uint32_t index : group.requests) {
      const SiteRequest& request = requests_[index];
      if (request.semaphore != FileAddress()) site.semaphore = Address(request.semaphore.value + module_.bias);
      if (request.kind == abi::SiteKind::kReturn) site.returns = true;
    }
  }

  const Module& module_;
  std::span<const SiteRequest> requests_;
  std::vector<Group>& groups_;
  Region& region_;
  const StubSource& stubs_;
};

}  // namespace

Result<PatchedSite> build_site(const SitePlan& plan, std::span<const uint8_t> original, const Trampoline& trampoline,
                               Address at, uint32_t prefix) {
  PatchedSite site;
  site.begin = plan.begin;
  site.trampoline = at;
  site.trampoline_size = prefix + static_cast<uint32_t>(trampoline.code.size());
  site.window = plan.window;
  site.overwritten = plan.overwritten;
  site.falls_through = plan.falls_through;
  if (plan.mechanism == Mechanism::kShortJump) site.landing = plan.landing;
  memcpy(site.original, original.data(), std::min<size_t>(original.size(), kMaxPatch));
  std::vector<uint8_t> jump = native_architecture().emit_jump(plan, at);
  CHECK(jump.size() == plan.overwritten && jump.size() <= kMaxPatch);
  memcpy(site.patched, jump.data(), jump.size());
  if (trampoline.boundaries.size() > kMaxBoundaries) return Error{"too many instructions in its first bytes", ""};
  for (const Boundary& boundary : trampoline.boundaries) {
    site.boundaries[site.boundary_count++] = {boundary.original, static_cast<uint16_t>(boundary.relocated + prefix)};
  }
  return site;
}

namespace {

// Puts together what was emitted.
class Assembly {
 public:
  Assembly(BuiltSites& built, const std::vector<Group>& groups, std::span<const SiteRequest> requests, pid_t pid)
      : built_(built), groups_(groups), requests_(requests), pid_(pid) {
    for (const Group& group : groups_) {
      if (group.host != Address()) rested_on_.insert({group.host, group.second_byte_from});
    }
  }

  // Whether the patches that a group's short jump rests on have become what it was planned with.
  bool has_foundations(const Group& group) const {
    auto stands = [&](Address at) {
      const Group* other = group_before(groups_, at);
      return sites_.contains(at) && other && other->entry == at && other->plan.mechanism == Mechanism::kJump;
    };
    if (group.second_byte_from != Address() && !stands(group.second_byte_from)) return false;
    if (!stands(group.host)) return false;
    int64_t end = group.plan.landing + kLandingSize - group.host;
    return end <= kMaxPatch && static_cast<uint64_t>(end) <= group_before(groups_, group.host)->original.size();
  }
  void add(size_t index, std::vector<PatchedSite> made, const std::string& reason) {
    const Group& group = groups_[index];
    size_t first_outcome = built_.outcomes.size();
    Mechanism mechanism = made.empty() ? Mechanism::kRefused : group.plan.mechanism;
    for (size_t i = index; i <= index + group.absorbed; i++) {
      for (uint32_t request : groups_[i].requests) {
        if (requests_[request].kind == abi::SiteKind::kRoom) continue;
        built_.outcomes.push_back({requests_[request].site_id, pid_, mechanism, reason});
      }
    }
    if (!made.empty() && group.host != Address()) rest_on(group, made[0]);
    if (made.size() > 1) built_.foundations.insert({made[0].begin, made[1].begin});
    for (const PatchedSite& site : made) {
      if (rested_on_.contains(site.begin)) sites_[site.begin] = built_.sites.size();
      built_.sites.push_back(site);
      built_.first_outcome.push_back(static_cast<uint32_t>(first_outcome));
      built_.outcome_count.push_back(static_cast<uint32_t>(built_.outcomes.size() - first_outcome));
    }
  }
  void finish() {
    for (const PatchedSite& site : built_.sites) enter_in_journal(site, *built_.region);
  }

 private:
  // Writes the near jump into the host's patch.
  void rest_on(const Group& group, PatchedSite& site) {
    PatchedSite& host = built_.sites[sites_.at(group.host)];
    SitePlan plan;
    plan.mechanism = Mechanism::kJump;
    plan.begin = group.plan.landing;
    std::vector<uint8_t> jump = native_architecture().emit_jump(plan, site.trampoline);
    uint8_t offset = static_cast<uint8_t>(plan.begin - host.begin);
    if (host.overwritten < offset) memcpy(host.patched + host.overwritten, host.original + host.overwritten, offset - host.overwritten);
    memcpy(host.patched + offset, jump.data(), jump.size());
    host.overwritten = std::max<uint8_t>(host.overwritten, offset + kLandingSize);
    for (Address foundation : {group.host, group.second_byte_from}) {
      if (foundation == Address()) continue;
      built_.foundations.insert({site.begin, foundation});
      site.returns |= built_.sites[sites_.at(foundation)].returns;
    }
  }

  BuiltSites& built_;
  const std::vector<Group>& groups_;
  std::span<const SiteRequest> requests_;
  pid_t pid_;
  std::set<Address> rested_on_;
  std::map<Address, size_t> sites_;  // of these: where in built_
};

}  // namespace

Result<BuiltSites> build_sites(const AddressSpace& space, pid_t pid, const Module& module,
                               std::span<const SiteRequest> requests, const RegionSource& region_source,
                               const StubSource& stub_source) {
  BuiltSites built;
  if (requests.empty()) return built;
  std::vector<Group> groups = lay_out_sites(space, module, requests);

  const Architecture& machine = native_architecture();
  uint64_t sites = 0, room = 0;
  for (const Group& group : groups) {
    if (group.plan.mechanism == Mechanism::kRefused) continue;
    std::vector<Fragment> fragments;
    for (uint32_t index : group.requests) fragments.push_back({requests[index].kind, requests[index].flags, 0, {}, {}, 0, module.goroutine});
    sites += group.plan.mechanism == Mechanism::kShortJump ? 2 : 1;
    room += machine.trampoline_room(fragments) + kAlignmentRoom;
  }
  bool breakpoints = std::any_of(groups.begin(), groups.end(), [](const Group& group) {
    return group.plan.mechanism == Mechanism::kInt3 || group.plan.mechanism == Mechanism::kPunned;
  });
  if (breakpoints) room += breakpoint_room();
  if (sites != 0) {
    TRY(built.region, region_source(sites, room));
  }
  // Those that land in others' patches after those others.
  Assembly assembly(built, groups, requests, pid);
  for (bool lands_in_another : {false, true}) {
    for (size_t i = 0; i < groups.size(); i += 1 + groups[i].absorbed) {
      if ((groups[i].host != Address()) != lands_in_another) continue;
      std::vector<PatchedSite> made;
      std::string reason = groups[i].plan.reason;
      if (groups[i].plan.mechanism != Mechanism::kRefused) {
        if (lands_in_another && !assembly.has_foundations(groups[i])) {
          groups[i].host = groups[i].second_byte_from = Address();
          fall_back(groups[i], groups[i].original, 1);
        }
        Emission emission(module, requests, groups, *built.region, stub_source);
        auto emitted = emission.emit(i);
        if (emitted.ok()) {
          made = std::move(emitted).value();
        } else {
          reason = emitted.error().message;
        }
      }
      assembly.add(i, std::move(made), reason);
    }
  }
  assembly.finish();
  for (const Group& group : groups) {
    for (auto& [index, reason] : group.refused) {
      built.outcomes.push_back({requests[index].site_id, pid, Mechanism::kRefused, reason});
    }
  }
  return built;
}

}  // namespace spile::engine
