#pragma once
// Requests for one place, and the patch that is planned for them. Addresses are run-time addresses.

#include <algorithm>
#include <vector>

#include "engine/arch/architecture.h"

namespace spile::engine {

// Requests for one place, in order, and the patch for them.
struct Group {
  Address entry;            // behind an entry mark (endbr64), if there is one
  uint64_t size = 0;        // from `entry` to the function's end; 0: unknown
  bool instruction = true;  // all requests are for an instruction, which need not be a function's first
  Address function;         // of an instruction; 0 if unknown
  uint8_t room = 0;         // bytes up to the end of a return instruction to which control goes straight; 0: none
  bool only_room = true;    // all requests are PatchRoom: a patch is of use only if it displaces that return instruction too
  std::vector<uint32_t> requests;
  SitePlan plan;
  std::vector<uint8_t> original;  // from plan.begin: what is displaced and what is overwritten
  std::vector<uint8_t> padding;   // at plan.relay
  uint32_t absorbed = 0;          // so many groups behind this one lie in its window: their handlers run in its trampoline
  bool is_absorbed = false;
  Address carrier;              // kShortJump: the begin of the patch that has the relay in its bytes; 0: the relay is in padding
  Address second_byte_from;     // the begin of the patch that gives a short jump of one byte its second byte; 0: none
  std::vector<uint8_t> relays;  // relays of other groups in this one's patch: offsets from its begin
};

inline constexpr uint8_t kRelaySize = 5;  // bytes of the jump that a short jump leads to

// The last group whose entry is not behind `at`, or null. REQUIRES: groups are sorted by entry.
template <typename Groups>
auto group_before(Groups& groups, Address at) -> decltype(groups.data()) {
  auto after =
      std::upper_bound(groups.begin(), groups.end(), at, [](Address value, const Group& group) { return value < group.entry; });
  return after == groups.begin() ? nullptr : &*std::prev(after);
}

}  // namespace spile::engine
