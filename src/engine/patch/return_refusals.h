#pragma once
// Requests for the returns of functions that can't be probed there become requests for their entries alone, where somebody
// wants those (ReturnProbe::entry_alone): a call is counted although its return can't be.

#include "engine/patch/exit_sites.h"

namespace spile::engine {

// Empty if all of `requests` stand as they are.
std::optional<PlacedSites> refuse_returns(const AddressSpace& space, pid_t pid, const Module& module,
                                          std::span<const SiteRequest> requests, const ReturnReaderFinder& return_readers);

}  // namespace spile::engine
