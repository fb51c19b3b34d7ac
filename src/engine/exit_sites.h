#pragma once
// Requests for a function's ends become requests for places: the unwinders' (SiteRequest::landing_offset), and those of
// functions that Go's compiler made (abi::kReturnsInPlace), whose entries are put behind the check of their stack.

#include <vector>

#include "engine/address_space.h"
#include "engine/engine.h"

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

// Where a thread of a Go program keeps its goroutine, relative to its thread pointer: what the runtime's own instructions
// say. 0: unknown, or not a Go program.
int32_t find_goroutine_offset(const AddressSpace& space, const Module& module);

}  // namespace spile::engine
