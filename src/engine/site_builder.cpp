#include "engine/site_builder.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <numeric>
#include <tuple>

namespace spile::engine {
namespace {

constexpr uint8_t kLandingSize = 5;
constexpr uint64_t kMostDisassembled = uint64_t{64} << 10;
constexpr uint64_t kWholeText = uint64_t{8} << 20;

// Requests for one address, in order, and what becomes of them.
struct Group {
  Address entry;
  uint64_t size;  // from `entry` to the function's end
  bool instruction;  // all requests are for an instruction, which need not be a function's first
  Address function;  // of an instruction; 0 if unknown
  std::vector<uint32_t> requests;
  std::vector<std::pair<uint32_t, std::string>> refused;  // requests that the plan does not serve, and why
  SitePlan plan;
  std::vector<uint8_t> original;
  std::vector<uint8_t> padding;  // at plan.landing
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

  // The pieces, for a look at everything.
  template <typename Visitor>
  void each(Visitor visit) const {
    for (const Piece& piece : pieces_) visit(piece.begin, std::span<const uint8_t>(piece.bytes));
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
    if (groups.empty() || groups.back().entry != entry) groups.push_back({entry, 0, true, {}, {}, {}, {}, {}, {}});
    Group& group = groups.back();
    group.requests.push_back(index);
    if (requests[index].kind != abi::SiteKind::kInstruction) group.instruction = false;
    if (requests[index].function != FileAddress()) {
      group.function = Address(requests[index].function.value + module.bias);
    }
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
      plan =
          SitePlan::refused(fmt::format("shares its first instructions with the function at {:#x}", last->entry.value));
    } else if (i + 1 < groups.size() && groups[i + 1].entry > plan.begin &&
               groups[i + 1].entry < plan.begin + plan.overwritten) {
      plan = SitePlan::refused("another function begins within its first 5 bytes");
    } else {
      last = &group;
    }
  }
}

// The last group whose entry is not behind `at`.
Group* group_before(std::vector<Group>& groups, Address at) {
  auto after = std::upper_bound(groups.begin(), groups.end(), at,
                                [](Address value, const Group& group) { return value < group.entry; });
  return after == groups.begin() ? nullptr : &*std::prev(after);
}

// Cold parts of functions lie elsewhere in the text, and may branch back.
void refuse_far_targets(std::vector<Group>& groups, const TextImage& text) {
  const Architecture& machine = native_architecture();
  text.each([&](Address begin, std::span<const uint8_t> bytes) {
    std::vector<bool> covered(bytes.size());
    auto in_piece = [&](Address at) { return at >= begin && at < begin + static_cast<int64_t>(bytes.size()); };
    for (const Group& group : groups) {
      if (group.plan.mechanism == Mechanism::kRefused || !in_piece(group.plan.begin + group.plan.overwritten)) continue;
      auto at = covered.begin() + (group.plan.begin - begin);
      std::fill(at + 1, at + group.plan.overwritten, true);
    }
    for (TextBranch branch : machine.find_branches_into(bytes, covered)) {
      Group* target = group_before(groups, begin + static_cast<int64_t>(branch.to));
      if (!target || target->plan.mechanism == Mechanism::kRefused) continue;
      // Seen from the entry of a known function nearby, it may be the middle of an instruction.
      Group* source = group_before(groups, begin + static_cast<int64_t>(branch.from));
      if (source && source->entry >= begin) {
        uint64_t known = static_cast<uint64_t>(source->entry - begin);
        bool near = branch.from - known < kMostDisassembled;
        if (near && !machine.is_instruction(bytes.subspan(known), branch.from - known)) continue;
      }
      target->plan = SitePlan::refused("a branch from elsewhere leads into its first bytes");
    }
  });
}

// Takes the return probes out of a group whose function can't have any.
void refuse_returns(Group& group, const Module& module, std::span<const SiteRequest> requests, const TextImage& text) {
  auto wants_return = [&](uint32_t index) { return requests[index].kind == abi::SiteKind::kReturn; };
  if (std::none_of(group.requests.begin(), group.requests.end(), wants_return)) return;
  std::string obstacle = "Go's runtime moves stacks and walks them";
  if (!module.go) {
    obstacle = native_architecture().return_obstacle(group.entry,
                                                     [&](Address at, uint64_t length) { return text.at(at, length); });
  }
  if (obstacle.empty()) return;
  for (uint32_t index : group.requests) {
    if (wants_return(index)) group.refused.push_back({index, obstacle});
  }
  std::erase_if(group.requests, wants_return);
  if (group.requests.empty()) group.plan = SitePlan::refused(obstacle);
}

SitePlan plan_instruction(const Group& group, const TextImage& text) {
  const Architecture& machine = native_architecture();
  bool known = group.function != Address() && group.function <= group.entry && group.size != 0;
  Address from = known ? group.function : group.entry;
  uint64_t offset = static_cast<uint64_t>(group.entry - from);
  uint64_t size = group.size == 0 ? 0 : offset + group.size;
  auto bytes = text.at(from, std::max<uint64_t>(size, 256) + machine.lookahead());
  return machine.plan_instruction(bytes, offset, group.entry, size, known);
}

void plan_groups(const AddressSpace& space, const Module& module, std::span<const SiteRequest> requests,
                 std::vector<Group>& groups) {
  const Architecture& machine = native_architecture();
  Address low = groups.front().entry;
  Address high = groups.back().entry;
  for (const Group& group : groups) {
    if (group.function != Address()) low = std::min(low, group.function);
  }
  for (const Group& group : groups) high = std::max(high, group.entry + static_cast<int64_t>(group.size));
  high = high + 4096;
  // A small text is read and searched as a whole; in a large one, what lies around the requests.
  uint64_t whole = 0;
  for (const Module::Range& range : module.text) whole += static_cast<uint64_t>(range.end - range.begin);
  if (whole <= kWholeText) {
    low = module.text.front().begin;
    high = module.text.back().end;
  }
  TextImage text(space.memory, module, low, high);
  for (Group& group : groups) {
    auto bytes = text.at(group.entry, std::max<uint64_t>(group.size, 256) + machine.lookahead());
    if (bytes.empty()) {
      group.plan = SitePlan::refused("its address is not in the module's executable memory");
      continue;
    }
    group.plan = group.instruction ? plan_instruction(group, text) : machine.plan_entry(bytes, group.entry, group.size);
    if (group.plan.mechanism != Mechanism::kRefused) refuse_returns(group, module, requests, text);
    if (group.plan.mechanism == Mechanism::kRefused) continue;
    auto from = [&](Address at, size_t length) {
      auto part = bytes.subspan(static_cast<size_t>(at - group.entry), length);
      return std::vector<uint8_t>(part.begin(), part.end());
    };
    group.original = from(group.plan.begin, group.plan.window);
    if (group.plan.mechanism == Mechanism::kShortJump) group.padding = from(group.plan.landing, kLandingSize);
  }
  refuse_far_targets(groups, text);
  refuse_conflicts(space, groups);
}

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

// One site, or two: a short jump and its landing.
Result<std::vector<PatchedSite>> emit_group(Group& group, std::span<const SiteRequest> requests, uint64_t bias,
                                            Region& region) {
  const Architecture& machine = native_architecture();
  std::vector<Fragment> fragments;
  for (uint32_t index : group.requests) fragments.push_back(fragment_of(requests[index], region));
  TRY(Trampoline trampoline, machine.emit_trampoline(group.plan, group.original, fragments, region.next()));
  TRY(PatchedSite site, build_site(group.plan, group.original, trampoline, region.next(), 0));
  for (uint32_t index : group.requests) {
    if (requests[index].semaphore != FileAddress()) site.semaphore = Address(requests[index].semaphore.value + bias);
  }
  for (const Gate& gate : trampoline.gates) {
    region.add_switch(gate.site_id, {region.next() + gate.offset, gate.on, gate.off});
  }
  std::vector<PatchedSite> sites = {site};
  if (group.plan.mechanism == Mechanism::kShortJump) {
    SitePlan plan;
    plan.mechanism = Mechanism::kJump;
    plan.begin = group.plan.landing;
    plan.window = plan.overwritten = kLandingSize;
    TRY(PatchedSite landing, build_site(plan, group.padding, Trampoline{}, region.next(), 0));
    sites.push_back(landing);
  }
  for (const PatchedSite& made : sites) enter_in_journal(made, region);
  region.append_code(trampoline.code);
  return sites;
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
    sites += group.plan.mechanism == Mechanism::kShortJump ? 2 : 1;
    room += machine.trampoline_room(fragments) + 16;
  }
  if (sites != 0) {
    TRY(built.region, region_source(sites, room));
  }
  for (Group& group : groups) {
    Mechanism mechanism = group.plan.mechanism;
    std::string reason = group.plan.reason;
    if (mechanism != Mechanism::kRefused) {
      auto emitted = emit_group(group, requests, module.bias, *built.region);
      if (!emitted.ok()) {
        mechanism = Mechanism::kRefused;
        reason = emitted.error().message;
      } else {
        for (const PatchedSite& site : *emitted) {
          built.sites.push_back(site);
          built.first_outcome.push_back(static_cast<uint32_t>(built.outcomes.size()));
          built.outcome_count.push_back(static_cast<uint32_t>(group.requests.size()));
        }
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
