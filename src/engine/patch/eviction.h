#pragma once
// Room for functions of a few bytes that lie packed between others (cramped groups): a neighbor's instructions are displaced to a
// trampoline of their own, and of the bytes that its jump leaves, five take the relay, the jump that a short jump from the
// function leads to (Duck et al., "Binary Rewriting without Control Flow Recovery", PLDI 2020: T2 and T3). In a function of one
// byte only the short jump's first byte fits; its distance is the first byte of what follows, which a patch there can choose by a
// prefix without effect:
//
//   ret      -->  eb         jmp rel8   -----.
//   next:         2e e9 ..   cs jmp rel32    |  2e is the distance of the short jump, too
//   ...                                      |
//   neighbor:     e9 ..      jmp rel32       |
//                 e9 ..      jmp rel32  <----'    the relay; the neighbor's patch is its carrier
//
// Only functions that are probed themselves are neighbors: where other functions begin, and which code branches into them, is not
// known.

#include "engine/patch/layout_state.h"
#include "engine/patch/text_image.h"

namespace spile::engine {

// Makes short jumps of the plans of groups that need a breakpoint, or are likely to, where it finds a neighbor. May add groups
// without requests: neighbors. groups: by entry, before and after. occupied: has the plans of all groups; it is kept up to date.
// Does nothing on processors whose instructions have one length.
void evict_neighbors(std::vector<Group>& groups, const TextImage& text, Flows& flows, OccupiedText& occupied);

}  // namespace spile::engine
