#pragma once
// Makes requests for single instructions of requests for the ends of functions: those for unwinders (FunctionEndsProbe), and
// those for functions that Go's compiler made (abi::kReturnsInPlace). Entries of the latter are put behind the check of their
// stack.

#include <vector>

#include "engine/space/address_space.h"
#include "engine/terms/arm_report.h"
#include "engine/terms/module.h"
#include "engine/terms/site_request.h"

namespace spile::engine {

struct PlacedSites {
  std::vector<SiteRequest> sites;    // in the order given; several may stand for one request
  std::vector<SiteOutcome> refused;  // requests that have no place
};

// Reads the functions in the space's memory, and returns what is to be armed in place of `requests`. Empty if all of them stand
// as they are. Refuses also requests in Go programs whose handlers get registers if Module::goroutine is 0. pid: for the
// outcomes.
std::optional<PlacedSites> place_exits(const AddressSpace& space, pid_t pid, const Module& module,
                                       std::span<const SiteRequest> requests);

// Makes the request for the entry that remains of `request` where its returns can't be probed. REQUIRES: `request` has a
// ReturnProbe whose entry_alone is not 0.
SiteRequest entry_alone(const SiteRequest& request);

}  // namespace spile::engine
