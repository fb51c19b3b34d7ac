#pragma once
// Requests for the returns of functions that can't be probed there become requests for their entries alone, where somebody
// wants those (ReturnProbe::entry_alone): a call is counted although its return can't be.

#include "engine/patch/exit_sites.h"

namespace spile::engine {

// Reads the functions in the space's memory, and returns what is to be armed in place of `requests`. Empty if all stand as they
// are. A place at which one client's return can't be probed is refused to all. pid: for the outcomes, and for return_readers,
// which may be empty, and returns addresses of the file. REQUIRES: requests with abi::kReturnsInPlace go on to place_exits
// afterwards.
std::optional<PlacedSites> refuse_returns(const AddressSpace& space, pid_t pid, const Module& module,
                                          std::span<const SiteRequest> requests, const ReturnReaderFinder& return_readers);

}  // namespace spile::engine
