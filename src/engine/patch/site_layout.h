#pragma once
// Which patch goes where, for all requests of one module at once: patches must not lie over each other, over branch targets,
// or over places where something else begins. Addresses are dealt with from the highest to the lowest, since only what lies
// behind a site can be in its way (Duck et al., "Binary Rewriting without Control Flow Recovery", PLDI 2020, section 4).

#include <set>
#include <span>
#include <vector>

#include "engine/patch/site_group.h"
#include "engine/space/address_space.h"

namespace spile::engine {

// What stands in the text already.
struct Surroundings {
  std::span<const PatchedSite> standing;  // by begin; stay
  std::span<const PatchedSite> leaving;   // are taken out when what is laid out now is written
  const std::set<Address>& reentries;     // where threads come back into the text: nothing lies over that
};

// By entry. Each has a plan, or is refused. Those without requests are neighbors that make room for others.
std::vector<Group> lay_out_sites(const AddressSpace& space, const Module& module, std::span<const SiteRequest> requests,
                                 const Surroundings& around);

// The group's plan no longer holds: one that displaces a single instruction. text: from plan.begin.
void fall_back(Group& group, std::span<const uint8_t> text, uint64_t most);

}  // namespace spile::engine
