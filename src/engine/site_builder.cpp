#include "engine/site_builder.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>

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
        made.push_back({request.kind, request.flags, request.site_id, region_.image() + request.enter_offset,
                        region_.image() + request.exit_offset, offset});
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
    if (group.plan.mechanism == Mechanism::kShortJump) {
      SitePlan plan;
      plan.mechanism = Mechanism::kJump;
      plan.begin = group.plan.landing;
      plan.window = plan.overwritten = kLandingSize;
      TRY(PatchedSite landing, build_site(plan, group.padding, Trampoline{}, region_.next(), 0));
      landing.returns = site.returns;
      sites.push_back(landing);
    }
    for (const PatchedSite& made : sites) enter_in_journal(made, region_);
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
  memcpy(site.original, original.data(), std::min<size_t>(plan.overwritten, kMaxPatch));
  std::vector<uint8_t> jump = native_architecture().emit_jump(plan, at);
  CHECK(jump.size() == plan.overwritten && jump.size() <= kMaxPatch);
  memcpy(site.patched, jump.data(), jump.size());
  if (trampoline.boundaries.size() > kMaxBoundaries) return Error{"too many instructions in its first bytes", ""};
  for (const Boundary& boundary : trampoline.boundaries) {
    site.boundaries[site.boundary_count++] = {boundary.original, static_cast<uint16_t>(boundary.relocated + prefix)};
  }
  return site;
}

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
    for (uint32_t index : group.requests) fragments.push_back({requests[index].kind, requests[index].flags, 0, {}, {}});
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
  for (size_t i = 0; i < groups.size();) {
    const Group& group = groups[i];
    size_t end = i + 1 + group.absorbed;
    std::string reason = group.plan.reason;
    size_t first_outcome = built.outcomes.size();
    std::vector<PatchedSite> made;
    if (group.plan.mechanism != Mechanism::kRefused) {
      Emission emission(module, requests, groups, *built.region, stub_source);
      auto emitted = emission.emit(i);
      if (emitted.ok()) {
        made = std::move(emitted).value();
      } else {
        reason = emitted.error().message;
      }
    }
    Mechanism mechanism = made.empty() ? Mechanism::kRefused : group.plan.mechanism;
    for (; i < end; i++) {
      for (uint32_t index : groups[i].requests) {
        built.outcomes.push_back({requests[index].site_id, pid, mechanism, reason});
      }
    }
    for (const PatchedSite& site : made) {
      built.sites.push_back(site);
      built.first_outcome.push_back(static_cast<uint32_t>(first_outcome));
      built.outcome_count.push_back(static_cast<uint32_t>(built.outcomes.size() - first_outcome));
    }
  }
  for (const Group& group : groups) {
    for (auto& [index, reason] : group.refused) {
      built.outcomes.push_back({requests[index].site_id, pid, Mechanism::kRefused, reason});
    }
  }
  return built;
}

}  // namespace spile::engine
