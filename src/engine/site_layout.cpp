#include "engine/site_layout.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace spile::engine {
namespace {

constexpr uint64_t kMostDisassembled = uint64_t{64} << 10;
constexpr uint64_t kWholeText = uint64_t{8} << 20;

// What is, or is going to be, changed in the text.
class Taken {
 public:
  explicit Taken(const AddressSpace& space) : space_(space) {}

  void add(Address begin, uint64_t length) { ranges_.insert({begin, begin + static_cast<int64_t>(length)}); }
  void remove(Address begin, uint64_t length) { ranges_.erase({begin, begin + static_cast<int64_t>(length)}); }
  bool older_covers(Address at) const { return overlaps_older(at, at + 1); }
  bool is_free(Address begin, Address end) const {
    auto next = ranges_.lower_bound({begin, Address()});
    if (next != ranges_.end() && next->first < end) return false;
    if (next != ranges_.begin() && std::prev(next)->second > begin) return false;
    return !overlaps_older(begin, end);
  }

 private:
  bool overlaps_older(Address begin, Address end) const {
    auto after = std::lower_bound(space_.sites.begin(), space_.sites.end(), end,
                                  [](const PatchedSite& site, Address value) { return site.begin < value; });
    // Patches are short: no more than a few can begin within reach.
    for (int i = 0; i < kMaxPatch && after != space_.sites.begin(); i++) {
      const PatchedSite& site = *--after;
      if (site.begin + site.overwritten > begin) return true;
    }
    return false;
  }
  const AddressSpace& space_;
  std::set<std::pair<Address, Address>> ranges_;
};

TextImage read_text(const AddressSpace& space, const Module& module, std::span<const SiteRequest> requests) {
  Address low(~uint64_t{0}), high;
  for (const SiteRequest& request : requests) {
    Address at(request.address.value + module.bias);
    low = std::min(low, at);
    if (request.function != FileAddress()) low = std::min(low, Address(request.function.value + module.bias));
    high = std::max(high, at + static_cast<int64_t>(request.size));
  }
  // A small text is read and searched as a whole; in a large one, what lies around the requests.
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
    marks[i] = static_cast<uint8_t>(
        machine.landing_mark(text.at(Address(requests[i].address.value + module.bias), machine.lookahead())));
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
    if (request.size > marks[index]) group.size = std::max(group.size, request.size - marks[index]);
    if (request.kind != abi::SiteKind::kInstruction) group.instruction = false;
    if (request.function != FileAddress()) group.function = Address(request.function.value + module.bias);
  }
  return groups;
}

// What is known of functions, each looked at once.
class Flows {
 public:
  Flows(const AddressSpace& space, const TextImage& text) : space_(space), text_(text) {}

  const FunctionFlow& of(Address function, uint64_t size) {
    auto found = flows_.find(function);
    if (found != flows_.end() && found->second.size >= size) return found->second;
    const Architecture& machine = native_architecture();
    auto read = [&](Address from, std::span<uint8_t> into) { return space_.memory.read_some(from, into); };
    auto bytes = text_.at(function, size + machine.lookahead());
    return flows_.insert_or_assign(function, machine.analyse_function(bytes, function, size, read)).first->second;
  }
  // Of the function that the group is the entry of, or lies in.
  const FunctionFlow* of(const Group& group) {
    if (group.size == 0) return nullptr;
    if (!group.instruction) return &of(group.entry, group.size);
    if (group.function == Address() || group.function > group.entry) return nullptr;
    return &of(group.function, static_cast<uint64_t>(group.entry - group.function) + group.size);
  }
  const FunctionFlow* before(Address at) const {
    auto after = flows_.lower_bound(at);
    return after == flows_.begin() ? nullptr : &std::prev(after)->second;
  }

 private:
  const AddressSpace& space_;
  const TextImage& text_;
  std::map<Address, FunctionFlow> flows_;
};

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

bool is_placed(const Group& group) { return group.plan.mechanism != Mechanism::kRefused; }
// More than one instruction, perhaps.
bool is_window(const Group& group) {
  return group.plan.mechanism == Mechanism::kJump || group.plan.mechanism == Mechanism::kShortJump;
}

// The last group whose entry is not behind `at`.
Group* group_before(std::vector<Group>& groups, Address at) {
  auto after = std::upper_bound(groups.begin(), groups.end(), at,
                                [](Address value, const Group& group) { return value < group.entry; });
  return after == groups.begin() ? nullptr : &*std::prev(after);
}

// Cold parts of functions lie elsewhere in the text, and may branch back. Says which groups they spoil.
std::set<Group*> find_far_targets(std::vector<Group>& groups, const TextImage& text) {
  const Architecture& machine = native_architecture();
  std::set<Group*> spoilt;
  // Seen from the entry of a known function nearby, it may be the middle of an instruction.
  auto is_real = [&](const TextBranch& branch, Address begin, std::span<const uint8_t> bytes) {
    Group* source = group_before(groups, begin + static_cast<int64_t>(branch.from));
    if (!source || source->entry < begin) return true;
    uint64_t known = static_cast<uint64_t>(source->entry - begin);
    return branch.from - known >= kMostDisassembled ||
           machine.is_instruction(bytes.subspan(known), branch.from - known);
  };
  text.each([&](Address begin, std::span<const uint8_t> bytes) {
    std::vector<bool> covered(bytes.size());
    auto in_piece = [&](Address at) { return at >= begin && at < begin + static_cast<int64_t>(bytes.size()); };
    for (const Group& group : groups) {
      if (!is_window(group) || !in_piece(group.plan.begin + group.plan.overwritten)) continue;
      auto at = covered.begin() + (group.plan.begin - begin);
      std::fill(at + 1, at + group.plan.overwritten, true);
    }
    for (TextBranch branch : machine.find_branches_into(bytes, covered)) {
      Address to = begin + static_cast<int64_t>(branch.to);
      if (!is_real(branch, begin, bytes)) continue;
      for (Group* group = group_before(groups, to); group && to - group->entry <= kMaxPatch; group--) {
        if (is_window(*group) && to > group->plan.begin && to < group->plan.begin + group->plan.overwritten) {
          spoilt.insert(group);
        }
        if (group == groups.data()) break;
      }
    }
  });
  return spoilt;
}

class Layout {
 public:
  Layout(const AddressSpace& space, std::vector<Group>& groups, const TextImage& text, Flows& flows)
      : groups_(groups), text_(text), flows_(flows), taken_(space) {}

  void settle(size_t index, bool spoilt) {
    Group& group = groups_[index];
    if (!is_placed(group)) return;
    if (taken_.older_covers(group.plan.begin)) {
      group.plan = SitePlan::refused("already probed");
      return;
    }
    bool stands = !spoilt && group.plan.mechanism != Mechanism::kInt3 && group.plan.mechanism != Mechanism::kPunned;
    if (stands && absorb(index) && has_room(group)) return take(group);
    release(index);
    single(group);
    if (is_placed(group)) take(group);
  }

 private:
  Address end_of(const Group& group) const { return group.plan.begin + group.plan.overwritten; }

  // Groups within the window become part of it. False if one can't.
  bool absorb(size_t index) {
    Group& group = groups_[index];
    for (size_t i = index + 1; i < groups_.size() && groups_[i].entry < end_of(group); i++) {
      Group& inner = groups_[i];
      uint64_t offset = static_cast<uint64_t>(inner.entry - group.plan.begin);
      std::span<const uint8_t> bytes = text_.at(group.plan.begin, group.plan.window);
      if (!inner.instruction || !is_placed(inner) ||
          !native_architecture().is_boundary(group.plan, bytes, offset)) {
        return false;
      }
    }
    size_t last = index, orphans = index;
    for (size_t i = index + 1; i < groups_.size() && groups_[i].entry < end_of(group); i++) {
      if (!groups_[i].is_absorbed) give_back(groups_[i]);
      orphans = std::max(orphans, i + groups_[i].absorbed);
      groups_[i].is_absorbed = true;
      groups_[i].absorbed = 0;
      last = i;
    }
    group.absorbed = static_cast<uint32_t>(last - index);
    // Those that lay in the window of one that is part of this now, but lie behind this one.
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
    // What was absorbed falls back to a place of its own, from the highest.
    for (size_t i = index + group.absorbed; i > index; i--) stand_alone(i);
    group.absorbed = 0;
  }
  bool has_room(const Group& group) const {
    if (!taken_.is_free(group.plan.begin, end_of(group))) return false;
    return group.plan.mechanism != Mechanism::kShortJump ||
           taken_.is_free(group.plan.landing, group.plan.landing + kLandingSize);
  }
  void single(Group& group) {
    uint64_t most = 0;
    while (most < kMaxPatch && taken_.is_free(group.entry, group.entry + static_cast<int64_t>(most + 1))) most++;
    if (most == 0) {
      group.plan = SitePlan::refused("another site's patch lies there");
      return;
    }
    fall_back(group, text_.at(group.entry, native_architecture().lookahead()), most);
    if (is_placed(group) && most >= 2) land_on_island(group);
  }
  bool holds_entry(Address begin, Address end) const {
    auto at = std::lower_bound(groups_.begin(), groups_.end(), begin,
                               [](const Group& group, Address value) { return group.entry < value; });
    return at != groups_.end() && at->entry < end;
  }
  // A short jump to a near one in padding nearby, where there is some.
  void land_on_island(Group& group) {
    const FunctionFlow* own = flows_.of(group);
    // Neighbours' padding too, as far as they have been looked at.
    for (const FunctionFlow* flow : {own, flows_.before(group.entry)}) {
      if (!flow) continue;
      for (auto [begin, length] : flow->islands) {
        for (Address at = begin; at + kLandingSize <= begin + static_cast<int64_t>(length); at = at + 1) {
          if (holds_entry(at, at + kLandingSize)) continue;
          if (taken_.is_free(at, at + kLandingSize) && native_architecture().land_nearby(group.plan, at)) return;
        }
      }
    }
  }
  // Which range a punned jump gets is not decided yet.
  static uint64_t span_of(const SitePlan& plan) {
    return plan.mechanism == Mechanism::kPunned ? plan.puns.back().overwritten : plan.overwritten;
  }
  void take(const Group& group) {
    taken_.add(group.plan.begin, span_of(group.plan));
    if (group.plan.mechanism == Mechanism::kShortJump) taken_.add(group.plan.landing, kLandingSize);
  }
  void give_back(const Group& group) {
    taken_.remove(group.plan.begin, span_of(group.plan));
    if (group.plan.mechanism == Mechanism::kShortJump) taken_.remove(group.plan.landing, kLandingSize);
  }

  std::vector<Group>& groups_;
  const TextImage& text_;
  Flows& flows_;
  Taken taken_;
};

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
  if (group.plan.mechanism == Mechanism::kShortJump) group.padding = keep(group.plan.landing, kLandingSize);
}

}  // namespace

void fall_back(Group& group, std::span<const uint8_t> text, uint64_t most) {
  group.plan = native_architecture().plan_single(text, group.entry, most);
  group.absorbed = 0;
}

std::vector<Group> lay_out_sites(const AddressSpace& space, const Module& module, std::span<const SiteRequest> requests) {
  const Architecture& machine = native_architecture();
  TextImage text = read_text(space, module, requests);
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
    if (is_placed(group)) refuse_returns(group, module, requests, text);
  }
  std::set<Group*> spoilt = find_far_targets(groups, text);
  // Go's goroutines begin as if called by runtime.goexit, with the return address one byte, a nop, behind its entry.
  for (Group& group : groups) {
    if (module.go && is_window(group) && machine.begins_with_short_nop(text.at(group.entry, 1))) spoilt.insert(&group);
  }
  Layout layout(space, groups, text, flows);
  for (size_t i = groups.size(); i-- > 0;) layout.settle(i, spoilt.contains(&groups[i]));
  for (Group& group : groups) {
    if (is_placed(group) && !group.is_absorbed) keep_originals(group, text);
  }
  return groups;
}

}  // namespace spile::engine
