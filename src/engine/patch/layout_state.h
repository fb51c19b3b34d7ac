#pragma once
// What site_layout and eviction know of a module's text while they decide which patch goes where. Addresses are run-time
// addresses, lengths are in bytes.

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "engine/patch/site_group.h"
#include "engine/patch/text_image.h"
#include "engine/space/address_space.h"

namespace spile::engine {

// How many bytes the patch may change, from plan.begin: which range a punned jump gets is not decided yet, so the longest counts.
inline uint64_t patch_span(const SitePlan& plan) {
  return plan.mechanism == Mechanism::kPunned ? plan.puns.back().overwritten : plan.overwritten;
}

// Bytes of the text that are changed, or going to be. standing: sites that stay, by begin; they must outlive this object.
class OccupiedText {
 public:
  explicit OccupiedText(std::span<const PatchedSite> standing) : standing_(standing) {}

  // remove() takes back one add(), with the same begin and length.
  void add(Address begin, uint64_t length) { ranges_.insert({begin, begin + static_cast<int64_t>(length)}); }
  void remove(Address begin, uint64_t length) { ranges_.erase({begin, begin + static_cast<int64_t>(length)}); }
  // Whether the byte is in the patch of a standing site.
  bool older_covers(Address at) const { return overlaps_older(at, at + 1); }
  // Whether no byte in [begin, end) is changed, or going to be.
  bool is_free(Address begin, Address end) const {
    auto next = ranges_.lower_bound({begin, Address()});
    if (next != ranges_.end() && next->first < end) return false;
    if (next != ranges_.begin() && std::prev(next)->second > begin) return false;
    return !overlaps_older(begin, end);
  }

 private:
  bool overlaps_older(Address begin, Address end) const {
    auto after = std::lower_bound(standing_.begin(), standing_.end(), end,
                                  [](const PatchedSite& site, Address value) { return site.begin < value; });
    // Patches are short: no more than a few can begin within reach.
    for (int i = 0; i < kMaxPatch && after != standing_.begin(); i++) {
      const PatchedSite& site = *--after;
      if (site.begin + site.overwritten > begin) return true;
    }
    return false;
  }
  std::span<const PatchedSite> standing_;
  std::set<std::pair<Address, Address>> ranges_;
};

// The branches of functions, each of which is looked at once, or again if more of it is asked for. References and pointers are
// good as long as this object, but what they refer to changes when more of that function is asked for.
class Flows {
 public:
  Flows(const AddressSpace& space, const TextImage& text) : space_(space), text_(text) {}

  // Of at least the first `size` bytes of the function.
  const FunctionFlow& of(Address function, uint64_t size) {
    auto found = flows_.find(function);
    if (found != flows_.end() && found->second.size >= size) return found->second;
    const Architecture& machine = native_architecture();
    auto read = [&](Address from, std::span<uint8_t> into) { return space_.memory.read_some(from, into); };
    auto bytes = text_.at(function, size + machine.lookahead());
    return flows_.insert_or_assign(function, machine.analyze_function(bytes, function, size, read)).first->second;
  }
  // Of the function that has the group, or null if the function or its size is not known.
  const FunctionFlow* of(const Group& group) {
    if (group.size == 0) return nullptr;
    if (!group.instruction) return &of(group.entry, group.size);
    if (group.function == Address() || group.function > group.entry) return nullptr;
    return &of(group.function, static_cast<uint64_t>(group.entry - group.function) + group.size);
  }
  // Of the last function, among those looked at, that begins before `at`, or nullptr.
  const FunctionFlow* before(Address at) const {
    auto after = flows_.lower_bound(at);
    return after == flows_.begin() ? nullptr : &std::prev(after)->second;
  }

 private:
  const AddressSpace& space_;
  const TextImage& text_;
  std::map<Address, FunctionFlow> flows_;
};

}  // namespace spile::engine
