#include "engine/patch/eviction.h"

#include <cstdlib>
#include <optional>
#include <tuple>

#include "engine/patch/branch_targets.h"

namespace spile::engine {
namespace {

constexpr int64_t kReach = 160;  // of a short jump, and what is displaced there
constexpr uint64_t kMostDisassembled = uint64_t{64} << 10;
constexpr int kMostExtents = 64;  // that begin before a place and may reach it
constexpr uint8_t kJumpSize = 5, kShortJumpSize = 2;

// A known function.
struct Extent {
  Address begin, end;
  bool contains(Address at) const { return at >= begin && at < end; }
};

// Whether the plan is a breakpoint, or a punned jump to places that may well not be free.
bool needs_better(const SitePlan& plan) {
  auto narrow = [](const PunRange& range) { return range.count <= 256; };
  return plan.mechanism == Mechanism::kInt3 ||
         (plan.mechanism == Mechanism::kPunned && std::all_of(plan.puns.begin(), plan.puns.end(), narrow));
}
bool may_carry(const Group& group) {
  return group.plan.mechanism == Mechanism::kJump && !group.is_absorbed && group.absorbed == 0 && group.size != 0;
}
uint8_t jump_size(const SitePlan& plan) { return plan.lead == 0 ? kJumpSize : kJumpSize + 1; }
// How many bytes from the group's begin the patch changes.
uint8_t extent_of(const Group& group) {
  uint8_t end = jump_size(group.plan);
  for (uint8_t relay : group.relays) end = std::max<uint8_t>(end, relay + kRelaySize);
  return end;
}

class Eviction {
 public:
  Eviction(const VariableLengthPatching& patching, std::vector<Group>& groups, const TextImage& text, Flows& flows,
           OccupiedText& occupied)
      : patching_(patching), groups_(groups), text_(text), flows_(flows), occupied_(occupied) {}

  void run() {
    std::vector<Group*> cramped_groups;
    for (Group& group : groups_) {
      if (needs_better(group.plan) && !group.is_absorbed && group.absorbed == 0) cramped_groups.push_back(&group);
    }
    if (cramped_groups.empty()) return;
    find_extents();
    find_targets(cramped_groups);
    // Groups with the least choice come first.
    std::ranges::stable_partition(cramped_groups, [](const Group* cramped) { return cramped->plan.window < kShortJumpSize; });
    for (Group* cramped : cramped_groups) {
      uint64_t span = patch_span(cramped->plan);
      occupied_.remove(cramped->entry, span);
      if (!jump_by_two_bytes(*cramped) && !jump_by_one_byte(*cramped)) occupied_.add(cramped->entry, span);
    }
    for (auto& [begin, group] : evicted_) groups_.push_back(std::move(group));
    std::sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) { return a.entry < b.entry; });
  }

 private:
  void find_extents() {
    for (const Group& group : groups_) {
      Address begin = group.instruction ? group.function : group.entry;
      Address end = group.entry + static_cast<int64_t>(group.size);
      if (group.size == 0 || begin == Address() || begin > group.entry) continue;
      extents_.push_back({begin, end});
    }
    std::sort(extents_.begin(), extents_.end(),
              [](const Extent& a, const Extent& b) { return std::tie(a.begin, b.end) < std::tie(b.begin, a.end); });
    auto same = [](const Extent& a, const Extent& b) { return a.begin == b.begin; };
    extents_.erase(std::unique(extents_.begin(), extents_.end(), same), extents_.end());
  }
  // Known functions that have bytes in [from, to), the nearest to `to` first.
  std::vector<Extent> extents_in(Address from, Address to) const {
    auto after = std::lower_bound(extents_.begin(), extents_.end(), to,
                                  [](const Extent& extent, Address value) { return extent.begin < value; });
    std::vector<Extent> found;
    for (int i = 0; i < kMostExtents && after != extents_.begin(); i++) {
      if ((--after)->end > from) found.push_back(*after);
    }
    return found;
  }
  // Where the instructions of a function begin.
  const std::vector<Address>& instructions_of(const Extent& extent) {
    auto [place, fresh] = instructions_.try_emplace(extent.begin);
    if (!fresh) return place->second;
    uint64_t size = std::min(static_cast<uint64_t>(extent.end - extent.begin), kMostDisassembled);
    const Architecture& machine = native_architecture();
    auto bytes = text_.at(extent.begin, size + machine.lookahead());
    for (uint64_t at = 0; at < std::min<uint64_t>(size, bytes.size());) {
      place->second.push_back(extent.begin + static_cast<int64_t>(at));
      at += std::max<uint64_t>(machine.instruction_length(bytes.subspan(at)), 1);
    }
    return place->second;
  }
  bool is_middle(Address at) {
    bool middle = false;
    for (const Extent& extent : extents_in(at, at + 1)) {
      const std::vector<Address>& begins = instructions_of(extent);
      if (std::binary_search(begins.begin(), begins.end(), at)) return false;
      middle |= !begins.empty() && at < begins.back();
    }
    return middle;
  }
  void find_targets(const std::vector<Group*>& cramped_groups) {
    targets_ = far_branch_targets(groups_, text_, [&](const auto& mark) {
      for (const Group* cramped : cramped_groups) mark(cramped->entry + -kReach, cramped->entry + kReach);
    });
    std::set<Address> seen;
    for (const Group* cramped : cramped_groups) {
      for (const Branch& branch : short_branches(text_, cramped->entry + -2 * kReach, cramped->entry + 2 * kReach)) {
        if (seen.insert(branch.from).second && !is_middle(branch.from)) targets_.push_back(branch.to);
      }
    }
    std::sort(targets_.begin(), targets_.end());
  }
  // Whether control may come to a place in (begin, end) otherwise than from the instruction above.
  bool is_entered(Address begin, Address end) {
    auto target = std::upper_bound(targets_.begin(), targets_.end(), begin);
    if (target != targets_.end() && *target < end) return true;
    auto entry = std::upper_bound(groups_.begin(), groups_.end(), begin,
                                  [](Address value, const Group& group) { return value < group.entry; });
    if (entry != groups_.end() && entry->entry < end) return true;
    auto evicted = evicted_.upper_bound(begin);
    if (evicted != evicted_.end() && evicted->first < end) return true;
    std::vector<Extent> extents = extents_in(begin, begin + 1);
    for (const Extent& extent : extents) {
      uint64_t size = static_cast<uint64_t>(extent.end - extent.begin), first = static_cast<uint64_t>(begin - extent.begin);
      if (size > kMostDisassembled) return true;
      const FunctionFlow& flow = flows_.of(extent.begin, size);
      if (!flow.known || flow.by_table) return true;
      if (flow.leads_into(first + 1, first + static_cast<uint64_t>(end - begin) - 1)) return true;
    }
    return extents.empty();
  }
  Group* group_at(Address at) {
    auto evicted = evicted_.find(at);
    if (evicted != evicted_.end()) return &evicted->second;
    Group* group = group_before(groups_, at);
    return group && group->entry == at ? group : nullptr;
  }

  // Plans another jump for a group: with this lead, and over `room` bytes, of which the jump takes the first ones.
  bool reshape(Group& group, uint8_t room, uint8_t lead, bool is_new) {
    const Architecture& machine = native_architecture();
    if (room > kMaxPatch) return false;
    auto bytes = text_.at(group.entry, machine.lookahead());
    SitePlan plan = patching_.plan_displacement(bytes, group.entry, group.size, room);
    if (plan.mechanism == Mechanism::kRefused) return false;
    size_t boundaries = 1;
    for (size_t at = 0; at < plan.displaced; at += machine.instruction_length(bytes.subspan(at))) boundaries++;
    Address end = group.entry + plan.window;
    if (boundaries > kMaxBoundaries || is_entered(group.entry, end)) return false;
    uint8_t before = is_new ? 0 : extent_of(group);
    if (group.entry + before < end && !occupied_.is_free(group.entry + before, end)) return false;
    plan.lead = lead;
    plan.overwritten = jump_size(plan);
    group.plan = plan;
    if (!is_new) occupied_.remove(group.entry, before);
    occupied_.add(group.entry, room);
    return true;
  }
  // Makes a jump at `carrier`, with room for another one at `relay`. cramped: bytes that must not be displaced for it.
  bool make_relay(Address carrier, const Extent& within, Address relay, const Extent& cramped) {
    Group* group = group_at(carrier);
    Group fresh;
    if (!group) {
      fresh.entry = carrier;
      fresh.size = static_cast<uint64_t>(within.end - carrier);
      fresh.plan.mechanism = Mechanism::kJump;
    } else if (!may_carry(*group)) {
      return false;
    }
    Group& made = group ? *group : fresh;
    int64_t offset = relay - carrier;
    if (offset < jump_size(made.plan) || offset + kRelaySize > kMaxPatch) return false;
    for (uint8_t other : made.relays) {
      if (std::abs(other - offset) < kRelaySize) return false;
    }
    uint8_t room = std::max(group ? extent_of(made) : uint8_t{0}, static_cast<uint8_t>(offset + kRelaySize));
    if (overlaps(made, room, cramped) || !reshape(made, room, made.plan.lead, group == nullptr)) return false;
    made.relays.push_back(static_cast<uint8_t>(offset));
    if (!group) evicted_.emplace(carrier, std::move(fresh));
    return true;
  }
  bool overlaps(const Group& group, uint8_t room, const Extent& cramped) const {
    const Architecture& machine = native_architecture();
    SitePlan plan = patching_.plan_displacement(text_.at(group.entry, machine.lookahead()), group.entry, group.size, room);
    return group.entry < cramped.end && cramped.begin < group.entry + plan.window;
  }
  // Looks for an instruction in [from, to) that `take` takes as the carrier of a relay. Places that are patched anyway come
  // first: they lose nothing.
  template <typename Take>
  bool find_carrier(Address from, Address to, Take take) {
    for (bool probed : {true, false}) {
      for (const Extent& extent : extents_in(from, to)) {
        const std::vector<Address>& begins = instructions_of(extent);
        for (auto at = std::lower_bound(begins.begin(), begins.end(), from); at != begins.end() && *at < to; ++at) {
          if ((group_at(*at) != nullptr) == probed && take(*at, extent)) return true;
        }
      }
    }
    return false;
  }

  bool jump_by_two_bytes(Group& cramped) {
    const Architecture& machine = native_architecture();
    SitePlan plan = cramped.plan;
    if (plan.displaced < kShortJumpSize) {
      plan =
          patching_.plan_displacement(text_.at(cramped.entry, machine.lookahead()), cramped.entry, cramped.size, kShortJumpSize);
      if (plan.mechanism == Mechanism::kRefused || is_entered(cramped.entry, cramped.entry + plan.window)) return false;
    }
    if (!occupied_.is_free(cramped.entry, cramped.entry + plan.window)) return false;
    Extent displaced{cramped.entry, cramped.entry + plan.window};
    return find_carrier(cramped.entry + -kReach, cramped.entry + kReach, [&](Address carrier, const Extent& within) {
      const Group* present = group_at(carrier);
      Address relay = carrier + (present ? extent_of(*present) : kJumpSize);
      SitePlan relayed = plan;
      if (!patching_.relay_nearby(relayed, relay) || !make_relay(carrier, within, relay, displaced)) return false;
      cramped.plan = relayed;
      cramped.carrier = carrier;
      occupied_.add(cramped.entry, relayed.overwritten);
      return true;
    });
  }

  bool jump_by_one_byte(Group& cramped) {
    Address second = cramped.entry + 1;
    Group* next = group_at(second);
    if (next && may_carry(*next)) {
      for (uint8_t lead : patching_.leads()) {
        if (jump_with(cramped, patching_.first_byte(lead), next, lead)) return true;
      }
      return false;
    }
    auto bytes = text_.at(second, 1);
    if (bytes.empty() || !occupied_.is_free(cramped.entry, second + 1) || !jump_with(cramped, bytes[0], nullptr, 0)) return false;
    occupied_.add(second, 1);  // stays as it is
    return true;
  }
  bool jump_with(Group& cramped, uint8_t second_byte, Group* next, uint8_t lead) {
    if (next && (lead != next->plan.lead && !next->relays.empty())) return false;
    SitePlan plan = cramped.plan;
    patching_.relay_by_next_byte(plan, second_byte);
    Extent displaced{cramped.entry, cramped.entry + cramped.plan.window};
    // The patch behind must be able to begin like that, before anything else is changed for it.
    std::optional<Group> before;
    if (next) {
      before = *next;
      if (lead != next->plan.lead && !reshape(*next, kJumpSize + (lead != 0), lead, false)) return false;
    }
    bool found = find_carrier(plan.relay + -int64_t{kMaxPatch - kRelaySize}, plan.relay + -int64_t{kJumpSize} + 1,
                              [&](Address carrier, const Extent& within) {
                                return make_relay(carrier, within, plan.relay, displaced) && (cramped.carrier = carrier, true);
                              });
    if (!found && next) {
      occupied_.remove(next->entry, extent_of(*next));
      *next = *before;
      occupied_.add(next->entry, extent_of(*next));
    }
    if (!found) return false;
    cramped.plan = plan;
    if (next) cramped.second_byte_from = next->entry;
    occupied_.add(cramped.entry, 1);
    return true;
  }

  const VariableLengthPatching& patching_;
  std::vector<Group>& groups_;
  const TextImage& text_;
  Flows& flows_;
  OccupiedText& occupied_;
  std::vector<Extent> extents_;   // by begin, the longest of those with the same
  std::vector<Address> targets_;  // sorted
  std::map<Address, std::vector<Address>> instructions_;
  std::map<Address, Group> evicted_;  // new groups
};

}  // namespace

void evict_neighbors(std::vector<Group>& groups, const TextImage& text, Flows& flows, OccupiedText& occupied) {
  if (auto* patching = native_architecture().variable_length()) Eviction(*patching, groups, text, flows, occupied).run();
}

}  // namespace spile::engine
