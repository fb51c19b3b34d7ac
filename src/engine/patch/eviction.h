#pragma once
// Room for functions of a few bytes that lie packed between others: a neighbor's instructions are displaced to a trampoline
// of their own, and of the bytes that its jump leaves, five take the jump in which a short jump from the function lands
// (Duck et al., "Binary Rewriting without Control Flow Recovery", PLDI 2020: T2 and T3). Of a function of one byte only the
// short jump's first byte fits; where it leads is said by the first byte of what follows, which a patch there can choose by
// a prefix without effect:
//
//   ret      -->  eb         jmp rel8   -----.
//   next:         2e e9 ..   cs jmp rel32    |  2e is the distance of the short jump, too
//   ...                                      |
//   neighbor:    e9 ..      jmp rel32       |
//                 e9 ..      jmp rel32  <----'
//
// Only functions that are probed themselves are neighbors: of others it is not known where they begin and who branches
// into them.

#include "engine/patch/layout_state.h"
#include "engine/patch/text_image.h"

namespace spile::engine {

// For all groups that need a breakpoint, or are likely to. May add groups without requests.
void evict_neighbors(std::vector<Group>& groups, const TextImage& text, Flows& flows, OccupiedText& occupied);

}  // namespace spile::engine
