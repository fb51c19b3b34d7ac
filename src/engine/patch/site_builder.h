#pragma once
// From requests to patches that are ready to be written: reads the module's text, plans each site, emits trampolines
// into a region. Everything here happens while the target runs, on the engine's thread. Addresses are run-time addresses.

#include <functional>
#include <map>

#include "engine/patch/site_layout.h"
#include "engine/space/address_space.h"

namespace spile::engine {

struct BuiltOutcome : SiteOutcome {
  uint32_t request;  // index into BuildOrder::requests
};

struct BuiltSites {
  std::vector<PatchedSite> sites;       // by begin; in the journals of their regions, not in the text yet
  std::vector<uint32_t> first_outcome;  // for each site: its first outcome ...
  std::vector<uint32_t> outcome_count;  // ... and how many requests share it
  std::vector<BuiltOutcome> outcomes;   // for every request; kRefused ones are final
  // Pairs of begins of sites: the first leads into the second, or shares a byte with it, and must not be in the text without it.
  std::multimap<Address, Address> foundations;
};

// Finds or maps memory for a stub that jumps to `target`, in one of the ranges, and writes it. Returns the chosen range and where
// the stub is; empty: no range has room. Must not change region.next().
using StubSource =
    std::function<std::optional<PlacedStub>(ClientId client, Region& region, std::span<const PunRange> ranges, Address target)>;

// Finds or maps a region of the client's, within reach of the module, that has room for so many sites and bytes of trampolines.
using RegionSource = std::function<Result<std::shared_ptr<Region>>(ClientId client, uint64_t sites, uint64_t code_room)>;

// The requests to be armed in one module: each client's in the order in which they were made.
struct BuildOrder {
  std::span<const SiteRequest> requests;
  std::span<const ClientId> clients;  // of each request; empty: all are requests of `first`
  ClientId first = kOwnClient;

  ClientId client(uint32_t request) const { return clients.empty() ? first : clients[request]; }
};

// Builds sites, and writes their trampolines and journals. A place that can't be patched becomes a kRefused outcome; fails only
// if `region_source` does. pid: for the outcomes. REQUIRES: order.clients is empty or as long as order.requests, from which
// place_exits has removed each FunctionEndsProbe; module.text is not empty. A place at which several clients have requests gets a
// trampoline in a region of each, one leading to the next, by their ids; the last has the displaced instructions.
// PatchedSite::first_use and use_count count in `outcomes`.
Result<BuiltSites> build_sites(const AddressSpace& space, pid_t pid, const Module& module, const BuildOrder& order,
                               const Surroundings& around, const RegionSource& region_source, const StubSource& stub_source);

// Makes the site of a plan whose jump leads to `at`, where `prefix` bytes of other code are going to lie, and behind them
// `trampoline`. original: the window's bytes, and all that the patch overwrites. Writes nothing. Fails if the trampoline has more
// than kMaxBoundaries.
Result<PatchedSite> build_site(const SitePlan& plan, std::span<const uint8_t> original, const Trampoline& trampoline, Address at,
                               uint32_t prefix);

}  // namespace spile::engine
