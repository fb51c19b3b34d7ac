#include "engine/site_builder.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <numeric>
#include <tuple>

namespace spile::engine {
namespace {

// Requests for one address, in order, and what becomes of them.
struct Group {
  Address entry;
  uint64_t size;
  std::vector<uint32_t> requests;
  std::vector<std::pair<uint32_t, std::string>> refused;  // requests that the plan does not serve, and why
  SitePlan plan;
  std::vector<uint8_t> original;
};

// A module's executable memory as it is now.
class TextImage {
 public:
  TextImage(const TargetMemory& memory, const Module& module, Address low, Address high) {
    for (const Module::Range& range : module.text) {
      Address from = std::max(range.begin, low), to = std::min(range.end, high);
      if (from >= to) continue;
      Piece piece{from, std::vector<uint8_t>(static_cast<size_t>(to - from))};
      piece.bytes.resize(memory.read_some(from, piece.bytes));
      pieces_.push_back(std::move(piece));
    }
  }

  // Up to `length` bytes from `at`; empty if that is not executable.
  std::span<const uint8_t> at(Address at, uint64_t length) const {
    for (const Piece& piece : pieces_) {
      if (at < piece.begin || at >= piece.begin + static_cast<int64_t>(piece.bytes.size())) continue;
      std::span<const uint8_t> rest = std::span(piece.bytes).subspan(static_cast<size_t>(at - piece.begin));
      return rest.first(std::min<uint64_t>(length, rest.size()));
    }
    return {};
  }

 private:
  struct Piece {
    Address begin;
    std::vector<uint8_t> bytes;
  };
  std::vector<Piece> pieces_;
};

std::vector<Group> group_by_address(const Module& module, std::span<const SiteRequest> requests) {
  std::vector<uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::tie(requests[a].address, a) < std::tie(requests[b].address, b);
  });
  std::vector<Group> groups;
  for (uint32_t index : order) {
    Address entry(requests[index].address.value + module.bias);
    if (groups.empty() || groups.back().entry != entry) groups.push_back({entry, 0, {}, {}, {}, {}});
    groups.back().requests.push_back(index);
    groups.back().size = std::max(groups.back().size, requests[index].size);
  }
  return groups;
}

Fragment fragment_of(const SiteRequest& request, const Region& region) {
  return {request.kind, request.flags, request.site_id, region.image() + request.enter_offset,
          region.image() + request.exit_offset};
}

// Where windows would touch each other, or an older patch, or a neighbour's entry.
void refuse_conflicts(const AddressSpace& space, std::vector<Group>& groups) {
  Group* last = nullptr;  // the last one that is going to be patched
  for (size_t i = 0; i < groups.size(); i++) {
    Group& group = groups[i];
    SitePlan& plan = group.plan;
    if (plan.mechanism == Mechanism::kRefused) continue;
    const PatchedSite* older = space.site_at(plan.begin + plan.overwritten - 1);
    if (older && plan.begin < older->begin + older->overwritten && older->begin < plan.begin + plan.overwritten) {
      plan = SitePlan::refused("already probed");
    } else if (last && plan.begin < last->plan.begin + last->plan.window) {
      plan = SitePlan::refused(fmt::format("shares its first instructions with the function at {:#x}", last->entry.value));
    } else if (i + 1 < groups.size() && groups[i + 1].entry > plan.begin &&
               groups[i + 1].entry < plan.begin + plan.overwritten) {
      plan = SitePlan::refused("another function begins within its first 5 bytes");
    } else {
      last = &group;
    }
  }
}

// Takes the return probes out of a group whose function can't have any.
void refuse_returns(Group& group, std::span<const SiteRequest> requests, const TextImage& text) {
  auto wants_return = [&](uint32_t index) { return requests[index].kind == abi::SiteKind::kReturn; };
  if (std::none_of(group.requests.begin(), group.requests.end(), wants_return)) return;
  std::string obstacle = native_architecture().return_obstacle(
      group.entry, [&](Address at, uint64_t length) { return text.at(at, length); });
  if (obstacle.empty()) return;
  for (uint32_t index : group.requests) {
    if (wants_return(index)) group.refused.push_back({index, obstacle});
  }
  std::erase_if(group.requests, wants_return);
  if (group.requests.empty()) group.plan = SitePlan::refused(obstacle);
}

void plan_groups(const AddressSpace& space, const Module& module, std::span<const SiteRequest> requests,
                 std::vector<Group>& groups) {
  const Architecture& machine = native_architecture();
  Address low = groups.front().entry;
  Address high = groups.back().entry;
  for (const Group& group : groups) high = std::max(high, group.entry + static_cast<int64_t>(group.size));
  TextImage text(space.memory, module, low, high + 4096);
  for (Group& group : groups) {
    auto bytes = text.at(group.entry, std::max<uint64_t>(group.size, 256) + machine.lookahead());
    if (bytes.empty()) {
      group.plan = SitePlan::refused("its address is not in the module's executable memory");
      continue;
    }
    group.plan = machine.plan_entry(bytes, group.entry, group.size);
    if (group.plan.mechanism != Mechanism::kRefused) refuse_returns(group, requests, text);
    if (group.plan.mechanism == Mechanism::kRefused) continue;
    auto window = bytes.subspan(static_cast<size_t>(group.plan.begin - group.entry), group.plan.window);
    group.original.assign(window.begin(), window.end());
  }
  refuse_conflicts(space, groups);
}

Result<PatchedSite> emit_group(Group& group, std::span<const SiteRequest> requests, Region& region) {
  const Architecture& machine = native_architecture();
  std::vector<Fragment> fragments;
  for (uint32_t index : group.requests) fragments.push_back(fragment_of(requests[index], region));
  TRY(Trampoline trampoline, machine.emit_trampoline(group.plan, group.original, fragments, region.next()));
  TRY(PatchedSite site, build_site(group.plan, group.original, trampoline, region.next(), 0));
  JournalEntry entry{};
  entry.address = site.begin.value;
  memcpy(entry.original, site.original, kMaxPatch);
  memcpy(entry.patched, site.patched, kMaxPatch);
  entry.length = site.overwritten;
  entry.trampoline_offset = static_cast<uint32_t>(region.next() - region.address());
  region.append_journal(entry);
  region.append_code(trampoline.code);
  return site;
}

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
                               std::span<const SiteRequest> requests, const RegionSource& region_source) {
  BuiltSites built;
  if (requests.empty()) return built;
  std::vector<Group> groups = group_by_address(module, requests);
  plan_groups(space, module, requests, groups);

  const Architecture& machine = native_architecture();
  uint64_t sites = 0, room = 0;
  for (const Group& group : groups) {
    if (group.plan.mechanism == Mechanism::kRefused) continue;
    std::vector<Fragment> fragments;
    for (uint32_t index : group.requests) fragments.push_back({requests[index].kind, requests[index].flags, 0, {}, {}});
    sites++;
    room += machine.trampoline_room(fragments) + 16;
  }
  if (sites != 0) {
    TRY(built.region, region_source(sites, room));
  }
  for (Group& group : groups) {
    Mechanism mechanism = group.plan.mechanism;
    std::string reason = group.plan.reason;
    if (mechanism != Mechanism::kRefused) {
      auto site = emit_group(group, requests, *built.region);
      if (site.ok()) {
        built.sites.push_back(*site);
        built.first_outcome.push_back(static_cast<uint32_t>(built.outcomes.size()));
        built.outcome_count.push_back(static_cast<uint32_t>(group.requests.size()));
      } else {
        mechanism = Mechanism::kRefused;
        reason = site.error().message;
      }
    }
    for (uint32_t index : group.requests) built.outcomes.push_back({requests[index].site_id, pid, mechanism, reason});
    for (auto& [index, why] : group.refused) {
      built.outcomes.push_back({requests[index].site_id, pid, Mechanism::kRefused, why});
    }
  }
  return built;
}

}  // namespace spile::engine
