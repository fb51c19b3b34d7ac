#pragma once
// One arming of an address space: builds the sites of its modules for all clients, beside those that stand there, and writes them
// in stops of its threads. arming.cpp makes such an object for each arming. Belongs to the engine's thread.

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/change/site_change.h"
#include "engine/patch/place_check.h"
#include "engine/patch/site_builder.h"
#include "engine/share/client.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

// What was armed for each client.
using Reports = std::map<ClientId, ArmReport>;

struct SiteArmingContext {
  Tracer& tracer;
  const ClientTable& clients;
  PlaceCheck& places;
  uint64_t stop_patience_ms;  // as EngineOptions has it
};

class SiteArming {
 public:
  // pid: a process of the space; reports name it. All arguments outlive this.
  SiteArming(const SiteArmingContext& context, AddressSpace& space, pid_t pid)
      : tracer_(context.tracer),
        clients_(context.clients),
        places_(context.places),
        patience_ms_(context.stop_patience_ms),
        space_(space),
        pid_(pid) {}

  // Adds sites that are built already: apply() writes them with the others.
  void add(std::span<const PatchedSite> sites) { change_.coming.insert(change_.coming.end(), sites.begin(), sites.end()); }
  // Builds sites for all requests for the module that have not been dealt with, and counts these in `loaded`. Writes what was
  // built for one client before it builds for the next, which shares places with it. REQUIRES: map_arena() was called for all
  // clients of the space.
  Result<void> arm_module(LoadedModule& loaded);
  // Writes what has been built, in stops of all threads. After an error sites written before it stand.
  Result<void> apply();
  // Forgets modules that the process had unmapped when their sites were to be written, so that they are new when they are mapped
  // again, and their requests have no outcome yet. Returns their paths. To be called after apply() and before report().
  std::vector<std::string> forget_gone_modules();
  // Returns for how long threads stood still so far, in ns.
  uint64_t total_pause_ns() const { return total_pause_ns_; }
  // Adds the outcomes of all requests, and the times, to `reports`. To be called once, at the end, also after errors. prepare_ns:
  // the time without stops.
  void report(Reports& reports, uint64_t prepare_ns);

  // Takes out the sites that have a use for which `goes` is true, or whose code lies in the regions of `region_of` (nullptr:
  // none), and builds them anew for their other uses. without: the client whose regions are about to be unmapped; ~kOwnClient:
  // none. Fails, and writes nothing, if one of the others can't be built.
  Result<void> rebuild_without(const std::function<bool(SiteUse)>& goes, const ClientSpace* region_of, ClientId without);

 private:
  struct Reported {
    ClientId client;
    SiteOutcome outcome;
    bool is_open = false;  // of a module that may come again: it is not reported
  };
  // What is to be built in one module.
  struct Rebuild {
    const Module& module;
    std::span<const SiteUse> uses;              // all requests that the new sites have to serve
    size_t fresh_from = 0;                      // uses from here on are new, and reported
    std::span<const PatchedSite> leaving = {};  // sites that are taken out when the new ones are written
    ClientId without = ~kOwnClient;             // as in rebuild_without()
  };

  void refuse(const Client& client, uint32_t site_id, std::string reason);
  void leave_alone(Address begin);
  // identity: the module's, of identity_of().
  RequestList leave_out_other_files(const Client& client, const Module& module, const std::string& identity, RequestList list);
  std::vector<SiteUse> place_requests(const Client& client, Module& module, const std::string& identity, RequestList list);
  Result<void> build_beside_others(const Module& module, std::span<const SiteUse> fresh);
  // Fails, and builds nothing, where a use that is not new would be refused.
  Result<void> build(const Rebuild& rebuild);
  void switch_off_sites();
  Result<void> guard(const Module& module, BuiltSites& built);
  std::pair<Result<void>, std::set<Address>> apply_portion(SiteChange change);

  Tracer& tracer_;
  const ClientTable& clients_;
  PlaceCheck& places_;
  uint64_t patience_ms_;
  AddressSpace& space_;
  pid_t pid_;

  SiteChange change_;                            // built, and not written yet
  std::multimap<Address, Address> foundations_;  // of change_.coming, as BuiltSites has them
  std::vector<Reported> reported_;
  std::map<Address, std::pair<size_t, size_t>> reported_of_;  // of a coming site: first in reported_, and how many
  std::set<Address> gone_;                                    // as ChangeOutcome has them
  uint64_t pause_ns_ = 0, total_pause_ns_ = 0;
};

}  // namespace spile::engine
