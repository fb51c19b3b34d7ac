#pragma once
// Changes what is patched in an address space, in one stop of its threads: sites leave, others come, perhaps at the same
// places. Trampolines of sites that have left stay as they are, as threads may be in them; they are forgotten with the
// region that they lie in. All functions are for the engine's thread; they stop threads as they need, and let them run again.

#include <functional>
#include <set>

#include "engine/space/address_space.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

// REQUIRES: both lists are sorted by begin; the sites of `leaving` are in the text; the trampolines of `coming` are in their
// regions, and the sites are entered in the journals of these (build_sites does both).
struct SiteChange {
  std::vector<PatchedSite> leaving;
  std::vector<PatchedSite> coming;
};

// Finds sites in the text that lie where one of `requests` wants a site, or so near that both may not have a jump; and sites that
// they rest on, or that rest on them (SiteTable::with_foundations). Leaves out the engine's own traps. By begin.
std::vector<PatchedSite> find_conflicts(const AddressSpace& space, const Module& module, std::span<const SiteRequest> requests);
// Finds sites in the text that have a use for which `which` returns true, perhaps among others, or whose trampolines lie in the
// regions of that client (null: of none); and sites that they rest on, or that rest on them. By begin.
std::vector<PatchedSite> find_sites(const AddressSpace& space, const std::function<bool(SiteUse)>& which,
                                    const ClientSpace* region_of);

struct ChangeOutcome {
  // begins of sites of `coming` that were not written: their text has changed, or a goroutine waits in it
  std::set<Address> left_alone;
  std::set<Address> gone = {};  // of these, begins at which nothing is mapped
  uint64_t pause_ns = 0;        // from the request to stop until the threads were let go
};
// Writes the change in one stop of all threads. patience_ms: how long to wait for them to stand still; if they do not, fails and
// has changed nothing. A leaving site whose text somebody else has changed counts as taken out, and its text stays as it is.
Result<ChangeOutcome> apply_change(Tracer& tracer, AddressSpace& space, SiteChange change, uint64_t patience_ms);

// After sites of system calls have left: waits until no thread except `sparing` (0: none) can make a call in their trampolines. A
// thread that waits in such a call has made it, and is left there. patience_ms: as in drain_client.
Result<void> drain_calls(Tracer& tracer, AddressSpace& space, pid_t sparing, uint64_t patience_ms);
// After sites have left: waits until no thread is in our code by way of them, so that handlers of the client which no site calls
// any more don't run. Gives the client's pending returns their real addresses. Lets threads run meanwhile, and steps out threads
// that don't leave. Fails if a thread is inside after patience_ms; the handlers stay mapped then.
Result<void> drain_client(Tracer& tracer, AddressSpace& space, ClientId client, uint64_t patience_ms);
// Does the same, and unmaps what the client has there. Succeeds also if all processes have ended meanwhile. REQUIRES: no site in
// the text serves the client, or has its trampoline in the client's regions.
Result<void> remove_client(Tracer& tracer, AddressSpace& space, ClientId client, uint64_t patience_ms);

}  // namespace spile::engine
