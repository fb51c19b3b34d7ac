#pragma once
// Requests for one place, and the patch that is planned for them.

#include <algorithm>
#include <vector>

#include "engine/arch/architecture.h"

namespace spile::engine {

// Requests for one place, in order, and what becomes of them.
struct Group {
  Address entry;           // behind a relay mark (endbr64), if there is one
  uint64_t size = 0;       // from `entry` to the function's end; 0: unknown
  bool instruction = true;  // all requests are for an instruction, which need not be a function's first
  Address function;        // of an instruction; 0 if unknown
  uint8_t room = 0;        // bytes up to the end of a return instruction to which control goes straight; 0: none
  bool only_room = true;   // no probe is here: worth a patch only if it serves that return
  std::vector<uint32_t> requests;
  SitePlan plan;
  std::vector<uint8_t> original;  // from plan.begin: what is displaced and what is overwritten
  std::vector<uint8_t> padding;   // at plan.relay
  // Groups behind this one, so many, that lie in its window: their handlers run in its trampoline.
  uint32_t absorbed = 0;
  bool is_absorbed = false;
  // kShortJump: the place of the patch in which it lands; 0: in padding.
  Address carrier;
  // Another patch by which a one-byte short jump gets its second byte; 0: none.
  Address second_byte_from;
  // Bytes from the place of the patch, at which others land.
  std::vector<uint8_t> relays;
};

inline constexpr uint8_t kRelaySize = 5;

// The last group whose entry is not behind `at`, or nullptr.
template <typename Groups>
auto group_before(Groups& groups, Address at) -> decltype(groups.data()) {
  auto after = std::upper_bound(groups.begin(), groups.end(), at,
                                [](Address value, const Group& group) { return value < group.entry; });
  return after == groups.begin() ? nullptr : &*std::prev(after);
}

}  // namespace spile::engine
