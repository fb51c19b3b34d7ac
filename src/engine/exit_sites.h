#pragma once
// Requests for a function's ends (SiteRequest::landing_offset) become requests for places.

#include <vector>

#include "engine/address_space.h"
#include "engine/engine.h"

namespace spile::engine {

// In the order given; nothing where none of them is one for ends.
std::optional<std::vector<SiteRequest>> place_exits(const AddressSpace& space, const Module& module,
                                                    std::span<const SiteRequest> requests);

}  // namespace spile::engine
