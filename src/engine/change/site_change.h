#pragma once
// Changes what is patched in an address space, in one stop of its threads: sites leave, others come, perhaps at the same
// places. Trampolines of sites that have left stay as they are, as threads may be in them; they are forgotten with the
// region that they lie in.

#include <functional>
#include <set>

#include "engine/space/address_space.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

// Both by begin. coming: entered in their region's journal already.
struct SiteChange {
  std::vector<PatchedSite> leaving;
  std::vector<PatchedSite> coming;
};

// Sites, with requests, that are where one of these wants to be, or so near that both can't have a jump.
std::vector<PatchedSite> find_conflicts(const AddressSpace& space, const Module& module,
                                        std::span<const SiteRequest> requests);
// Sites that have such a use, among others perhaps, or (if given) that lie in that client's regions; and what is built with
// them.
std::vector<PatchedSite> find_sites(const AddressSpace& space, const std::function<bool(SiteUse)>& which,
                                    const ClientSpace* region_of);

struct ChangeOutcome {
  std::set<Address> left_alone;  // of `coming`: their text is not as it was
  uint64_t pause_ns = 0;
};
Result<ChangeOutcome> apply_change(Tracer& tracer, AddressSpace& space, SiteChange change, uint64_t patience_ms);

// Sites of system calls have left: waits until no thread can make a call in their trampolines; but `sparing`. Likewise.
Result<void> drain_calls(Tracer& tracer, AddressSpace& space, pid_t sparing, uint64_t patience_ms);
// Waits until no thread can come to handlers of the client that no site calls any more, nor to its pending returns, which get
// their real addresses. At most patience_ms, letting threads run meanwhile; an error says that its handlers stay mapped.
Result<void> drain_client(Tracer& tracer, AddressSpace& space, ClientId client, uint64_t patience_ms);
// The same, and unmaps what it has there. REQUIRES: no site serves it.
Result<void> remove_client(Tracer& tracer, AddressSpace& space, ClientId client, uint64_t patience_ms);

}  // namespace spile::engine
