#pragma once
// Changes what is patched in an address space, in one stop of its threads: sites leave, others come, perhaps at the same
// places. Trampolines of sites that have left stay as they are, as threads may be in them; they are forgotten with the
// region that they lie in.

#include <functional>
#include <set>

#include "engine/space/address_space.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

// Both lists by begin. The sites of `coming` are entered in the journals of their regions already.
struct SiteChange {
  std::vector<PatchedSite> leaving;
  std::vector<PatchedSite> coming;
};

// Finds sites with requests that lie where one of `requests` wants a site, or so near that both can't have a jump.
std::vector<PatchedSite> find_conflicts(const AddressSpace& space, const Module& module,
                                        std::span<const SiteRequest> requests);
// Finds sites that have such a use, perhaps among others, or that lie in the regions of that client (nullptr: none); and sites that were
// built together with them.
std::vector<PatchedSite> find_sites(const AddressSpace& space, const std::function<bool(SiteUse)>& which,
                                    const ClientSpace* region_of);

struct ChangeOutcome {
  std::set<Address> left_alone;  // of `coming`: their text is not as it was
  uint64_t pause_ns = 0;
};
// Writes the change in one stop of all threads. patience_ms: how long to wait for them to stand still.
Result<ChangeOutcome> apply_change(Tracer& tracer, AddressSpace& space, SiteChange change, uint64_t patience_ms);

// After sites of system calls have left: waits until no thread except `sparing` can make a call in their trampolines. patience_ms: as in
// drain_client.
Result<void> drain_calls(Tracer& tracer, AddressSpace& space, pid_t sparing, uint64_t patience_ms);
// Waits until no thread can come to handlers of the client that no site calls any more. Gives its pending returns their real addresses.
// Waits at most patience_ms, letting threads run meanwhile; then fails, and its handlers stay mapped.
Result<void> drain_client(Tracer& tracer, AddressSpace& space, ClientId client, uint64_t patience_ms);
// Does the same, and unmaps what the client has there. REQUIRES: no site serves it.
Result<void> remove_client(Tracer& tracer, AddressSpace& space, ClientId client, uint64_t patience_ms);

}  // namespace spile::engine
