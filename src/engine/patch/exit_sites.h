#pragma once
// Requests for a function's ends become requests for places: the unwinders' (SiteRequest::landing_offset), and those of
// functions that Go's compiler made (abi::kReturnsInPlace), whose entries are put behind the check of their stack.

#include <vector>

#include "engine/space/address_space.h"
#include "engine/terms/arm_report.h"
#include "engine/terms/module.h"
#include "engine/terms/site_request.h"

namespace spile::engine {

struct PlacedSites {
  std::vector<SiteRequest> sites;      // in the order given
  std::vector<SiteOutcome> refused;    // requests that have no place
};

// Nothing where all of them already are places.
std::optional<PlacedSites> place_exits(const AddressSpace& space, pid_t pid, const Module& module,
                                       std::span<const SiteRequest> requests);

// What is left of a request for entry and return where the return can't be probed. REQUIRES: it has an entry_offset.
SiteRequest entry_alone(const SiteRequest& request);

}  // namespace spile::engine
