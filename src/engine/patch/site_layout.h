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

// Sites that are in the text already, and places to keep free. Refers to what the caller keeps.
struct Surroundings {
  std::span<const PatchedSite> standing;  // sites that stay, by begin
  std::span<const PatchedSite> leaving;   // sites that are taken out when the new patches are written
  const std::set<Address>& reentries;     // SiteTable::reentries
};

// Plans patches for all requests, which are in any order, by the module's text in the space's memory. Returns groups by entry;
// each has a plan, which is kRefused where no patch fits, and `original` unless it is absorbed. Groups without requests are
// neighbors that make room for others (eviction.h). REQUIRES: neither `requests` nor module.text is empty.
std::vector<Group> lay_out_sites(const AddressSpace& space, const Module& module, std::span<const SiteRequest> requests,
                                 const Surroundings& around);

// Replaces a plan that can't be carried out by one that displaces only the instruction at group.entry, or is kRefused. text: from
// there, with lookahead. most: bytes from there that may change; below 5, the plan is for a breakpoint.
void fall_back(Group& group, std::span<const uint8_t> text, uint64_t most);

}  // namespace spile::engine
