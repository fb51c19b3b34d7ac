#pragma once
// Finds where branches from anywhere in a module's text lead. Bytes that only look like a branch may be among them. Addresses are
// run-time addresses. REQUIRES: groups are sorted by entry; the entries of known functions among them show which bytes are
// instructions.

#include <functional>
#include <vector>

#include "engine/patch/site_group.h"
#include "engine/patch/text_image.h"

namespace spile::engine {

// Marks the bytes in [begin, end) to which branches are wanted, by calls of `mark`. It is called once for each piece of the text.
using TargetMarker = std::function<void(const std::function<void(Address begin, Address end)>& mark)>;

// Finds targets of near branches (call, jmp, jcc with 32-bit distances) among the bytes that are marked. Sees only branches in
// the same piece of `text`. In no order; a target may come more than once.
std::vector<Address> far_branch_targets(const std::vector<Group>& groups, const TextImage& text, const TargetMarker& marker);

struct Branch {
  Address from, to;
};
// Whether a short branch leads into [begin, end) from code outside of [function, function + size), which may be empty and lies
// around or right before `begin`.
bool has_short_branch_into(const std::vector<Group>& groups, const TextImage& text, Address begin, Address end, Address function,
                           uint64_t size);

// Finds all bytes in [begin, end) that look like short branches. Empty on processors whose instructions have one length.
std::vector<Branch> short_branches(const TextImage& text, Address begin, Address end);

}  // namespace spile::engine
