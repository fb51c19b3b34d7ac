#include "engine/patch/site_layout.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "engine/patch/branch_targets.h"
#include "engine/patch/eviction.h"
#include "engine/patch/layout_state.h"

namespace spile::engine {
namespace {

constexpr uint64_t kWholeText = uint64_t{8} << 20;

TextImage read_text(const AddressSpace& space, const Module& module, std::span<const SiteRequest> requests) {
  Address low(~uint64_t{0}), high;
  for (const SiteRequest& request : requests) {
    Address at(request.address.value + module.bias);
    low = std::min(low, at);
    if (request.function != FileAddress()) low = std::min(low, Address(request.function.value + module.bias));
    high = std::max(high, at + static_cast<int64_t>(request.size));
  }
  // A small text is read and searched as a whole; of a large one, only the part around the requests.
  uint64_t whole = 0;
  for (const Module::Range& range : module.text) whole += static_cast<uint64_t>(range.end - range.begin);
  if (whole <= kWholeText) {
    low = module.text.front().begin;
    high = module.text.back().end;
  }
  return TextImage(space.memory, module, low, high + 4096);
}

std::vector<Group> group_by_place(const Module& module, std::span<const SiteRequest> requests, const TextImage& text) {
  const Architecture& machine = native_architecture();
  std::vector<uint8_t> marks(requests.size());
  for (size_t i = 0; i < requests.size(); i++) {
    auto function = text.at(Address(requests[i].address.value + module.bias), std::max(machine.lookahead(), requests[i].size));
    marks[i] = static_cast<uint8_t>(machine.entry_mark(function));
  }
  auto place = [&](uint32_t i) { return requests[i].address.value + module.bias + marks[i]; };
  std::vector<uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return std::make_tuple(place(a), a) < std::make_tuple(place(b), b); });
  std::vector<Group> groups;
  for (uint32_t index : order) {
    const SiteRequest& request = requests[index];
    if (groups.empty() || groups.back().entry.value != place(index)) {
      groups.emplace_back();
      groups.back().entry = Address(place(index));
    }
    Group& group = groups.back();
    group.requests.push_back(index);
    bool is_room = request.is<PatchRoom>();
    if (is_room) group.room = static_cast<uint8_t>(request.size);
    if (!is_room) group.only_room = false;
    if (request.size > marks[index]) group.size = std::max(group.size, request.size - marks[index]);
    if (request.is_at_entry()) group.instruction = false;
    if (request.function != FileAddress()) group.function = Address(request.function.value + module.bias);
  }
  return groups;
}

bool is_placed(const Group& group) { return group.plan.mechanism != Mechanism::kRefused; }
// Whether the patch may displace more than one instruction.
bool is_window(const Group& group) {
  return group.plan.mechanism == Mechanism::kJump || group.plan.mechanism == Mechanism::kShortJump;
}

// Cold parts of functions lie elsewhere in the text, and may branch back; functions written in assembly language go on in the
// midst of others. Returns the groups that such branches spoil.
std::set<Group*> find_spoilt(std::vector<Group>& groups, const TextImage& text) {
  std::set<Group*> spoilt;
  std::vector<Address> targets = far_branch_targets(groups, text, [&](const auto& mark) {
    for (const Group& group : groups) {
      if (is_window(group)) mark(group.plan.begin + 1, group.plan.begin + group.plan.overwritten);
    }
  });
  for (Address to : targets) {
    for (Group* group = group_before(groups, to); group && to - group->entry <= kMaxPatch; group--) {
      if (is_window(*group) && to > group->plan.begin && to < group->plan.begin + group->plan.overwritten) {
        spoilt.insert(group);
      }
      if (group == groups.data()) break;
    }
  }
  for (Group& group : groups) {
    if (!is_window(group)) continue;
    bool known = group.size != 0 && (!group.instruction || group.function != Address());
    Address function = known && group.instruction ? group.function : group.entry;
    uint64_t size = known ? static_cast<uint64_t>(group.entry - function) + group.size : 0;
    if (has_short_branch_into(groups, text, group.plan.begin + 1, group.plan.begin + group.plan.overwritten, function, size)) {
      spoilt.insert(&group);
    }
  }
  return spoilt;
}

class Layout {
 public:
  Layout(std::vector<Group>& groups, const TextImage& text, Flows& flows, OccupiedText& occupied)
      : groups_(groups), text_(text), flows_(flows), occupied_(occupied) {}

  void settle(size_t index, bool spoilt) {
    Group& group = groups_[index];
    if (!is_placed(group)) return;
    if (occupied_.older_covers(group.plan.begin)) {
      group.plan = SitePlan::refused("already probed");
      return;
    }
    bool stands = !spoilt && group.plan.mechanism != Mechanism::kInt3 && group.plan.mechanism != Mechanism::kPunned;
    if (group.only_room && (!stands || !holds_entry(group.entry + 1, end_of_window(group)))) stands = false;
    if (stands && absorb(index) && has_room(group)) return take(group);
    release(index);
    if (group.only_room) {
      group.plan = SitePlan::refused("");
      return;
    }
    single(group);
    if (is_placed(group)) take(group);
  }

 private:
  Address end_of(const Group& group) const { return group.plan.begin + group.plan.overwritten; }
  // The end of what the patch displaces, where it displaces a return instruction too.
  Address end_of_window(const Group& group) const {
    return group.plan.begin + (group.room != 0 ? std::max(group.plan.overwritten, group.plan.displaced) : group.plan.overwritten);
  }

  // Makes groups within the window part of it. Returns false if one of them can't be.
  bool absorb(size_t index) {
    Group& group = groups_[index];
    for (size_t i = index + 1; i < groups_.size() && groups_[i].entry < end_of_window(group); i++) {
      Group& inner = groups_[i];
      uint64_t offset = static_cast<uint64_t>(inner.entry - group.plan.begin);
      std::span<const uint8_t> bytes = text_.at(group.plan.begin, group.plan.window);
      if (!inner.instruction || !is_placed(inner) || !native_architecture().is_boundary(group.plan, bytes, offset)) {
        return false;
      }
    }
    size_t last = index, orphans = index;
    for (size_t i = index + 1; i < groups_.size() && groups_[i].entry < end_of_window(group); i++) {
      if (!groups_[i].is_absorbed) give_back(groups_[i]);
      orphans = std::max(orphans, i + groups_[i].absorbed);
      groups_[i].is_absorbed = true;
      groups_[i].absorbed = 0;
      last = i;
    }
    group.absorbed = static_cast<uint32_t>(last - index);
    // Groups that lay in the window of a group which is part of this window now, but lie behind this window.
    for (size_t i = orphans; i > last; i--) stand_alone(i);
    return true;
  }
  void stand_alone(size_t index) {
    Group& group = groups_[index];
    group.is_absorbed = false;
    group.absorbed = 0;
    single(group);
    if (is_placed(group)) take(group);
  }
  void release(size_t index) {
    Group& group = groups_[index];
    // Groups that were absorbed fall back to places of their own, from the highest.
    for (size_t i = index + group.absorbed; i > index; i--) stand_alone(i);
    group.absorbed = 0;
  }
  bool has_room(const Group& group) const {
    if (!occupied_.is_free(group.plan.begin, end_of(group))) return false;
    return group.plan.mechanism != Mechanism::kShortJump || occupied_.is_free(group.plan.relay, group.plan.relay + kRelaySize);
  }
  void single(Group& group) {
    uint64_t most = 0;
    while (most < kMaxPatch && occupied_.is_free(group.entry, group.entry + static_cast<int64_t>(most + 1))) most++;
    if (most == 0) {
      group.plan = SitePlan::refused("another site's patch lies there");
      return;
    }
    fall_back(group, text_.at(group.entry, native_architecture().lookahead()), most);
    if (is_placed(group) && most >= 2) relay_in_padding(group);
  }
  bool holds_entry(Address begin, Address end) const {
    auto at = std::lower_bound(groups_.begin(), groups_.end(), begin,
                               [](const Group& group, Address value) { return group.entry < value; });
    return at != groups_.end() && at->entry < end;
  }
  // Plans a short jump to a relay in padding nearby, if it finds room.
  void relay_in_padding(Group& group) {
    const VariableLengthPatching* patching = native_architecture().variable_length();
    if (!patching) return;
    const FunctionFlow* own = flows_.of(group);
    // The padding of neighbors counts too, as far as they have been looked at.
    for (const FunctionFlow* flow : {own, flows_.before(group.entry)}) {
      if (!flow) continue;
      for (auto [begin, length] : flow->islands) {
        for (Address at = begin; at + kRelaySize <= begin + static_cast<int64_t>(length); at = at + 1) {
          if (holds_entry(at, at + kRelaySize)) continue;
          if (occupied_.is_free(at, at + kRelaySize) && patching->relay_nearby(group.plan, at)) return;
        }
      }
    }
  }
  void take(const Group& group) {
    occupied_.add(group.plan.begin, patch_span(group.plan));
    if (group.plan.mechanism == Mechanism::kShortJump) occupied_.add(group.plan.relay, kRelaySize);
  }
  void give_back(const Group& group) {
    occupied_.remove(group.plan.begin, patch_span(group.plan));
    if (group.plan.mechanism == Mechanism::kShortJump) occupied_.remove(group.plan.relay, kRelaySize);
  }

  std::vector<Group>& groups_;
  const TextImage& text_;
  Flows& flows_;
  OccupiedText& occupied_;
};

// Displaces everything up to the end of a return instruction.
void extend_to_return(SitePlan& plan, uint8_t length) {
  plan.window = plan.displaced = length;
  plan.falls_through = false;
}

void keep_originals(Group& group, const TextImage& text) {
  auto keep = [&](Address at, size_t length) {
    auto part = text.at(at, length);
    return std::vector<uint8_t>(part.begin(), part.end());
  };
  size_t most = std::max<size_t>(group.plan.window, kMaxPatch);
  group.original = keep(group.plan.begin, most);
  if (group.original.size() < std::max(group.plan.window, group.plan.overwritten)) {
    group.plan = SitePlan::refused("its code is cut off");
  }
  if (group.plan.mechanism == Mechanism::kShortJump && group.carrier == Address()) {
    group.padding = keep(group.plan.relay, kRelaySize);
  }
}

}  // namespace

void fall_back(Group& group, std::span<const uint8_t> text, uint64_t most) {
  group.plan = native_architecture().plan_single(text, group.entry, most);
  group.absorbed = 0;
}

std::vector<Group> lay_out_sites(const AddressSpace& space, const Module& module, std::span<const SiteRequest> requests,
                                 const Surroundings& around) {
  const Architecture& machine = native_architecture();
  TextImage text = read_text(space, module, requests);
  for (const PatchedSite& site : around.leaving) text.overlay(site.begin, {site.original, site.overwritten});
  std::vector<Group> groups = group_by_place(module, requests, text);
  Flows flows(space, text);
  for (Group& group : groups) {
    auto bytes = text.at(group.entry, std::max<uint64_t>(group.size, 256) + machine.lookahead());
    if (bytes.empty()) {
      group.plan = SitePlan::refused("its address is not in the module's executable memory");
      continue;
    }
    group.plan = group.instruction ? machine.plan_instruction(bytes, group.entry, group.size, flows.of(group))
                                   : machine.plan_entry(bytes, group.entry, group.size);
    if (!is_placed(group)) fall_back(group, bytes, 0);
    if (is_window(group) && group.plan.displaced < group.room) extend_to_return(group.plan, group.room);
  }
  std::set<Group*> spoilt = find_spoilt(groups, text);
  // Go's goroutines begin as if called by runtime.goexit, with the return address one byte, a nop, behind its entry.
  for (Group& group : groups) {
    if (module.go && is_window(group) && machine.is_goroutine_exit(text.at(group.entry, 8))) spoilt.insert(&group);
  }
  for (Group& group : groups) {
    auto reentry = around.reentries.upper_bound(group.plan.begin);
    bool covered = reentry != around.reentries.end() && *reentry < group.plan.begin + group.plan.overwritten;
    if (is_window(group) && covered) spoilt.insert(&group);
  }
  OccupiedText occupied(around.standing);
  Layout layout(groups, text, flows, occupied);
  for (size_t i = groups.size(); i-- > 0;) layout.settle(i, spoilt.contains(&groups[i]));
  if (!module.go && around.reentries.empty()) evict_neighbors(groups, text, flows, occupied);
  for (Group& group : groups) {
    if (is_placed(group) && !group.is_absorbed) keep_originals(group, text);
  }
  return groups;
}

}  // namespace spile::engine
