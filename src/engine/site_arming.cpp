#include "engine/site_arming.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <tuple>

#include "engine/change/text_patcher.h"
#include "engine/patch/exit_sites.h"
#include "engine/patch/return_refusals.h"
#include "engine/patch/text_relocations.h"
#include "engine/process/memory_map.h"
#include "engine/space/breakpoints.h"
#include "engine/space/goroutines.h"

namespace spile::engine {
namespace {

constexpr const char* kTextRelocations =
    "its code is relocated at load time (-z notext), which has not happened yet; attach with -x when the program runs";

const Module* module_at(const AddressSpace& space, Address address) {
  for (auto& [path, loaded] : space.modules) {
    if (address >= loaded.module.lowest && address < loaded.module.highest) return &loaded.module;
  }
  return nullptr;
}

// The requests of a rebuild as build_sites takes them: mostly one client's list as it is, else copies, by client.
struct OrderedRequests {
  std::vector<SiteRequest> requests;
  std::vector<ClientId> clients;
  std::vector<uint32_t> order;  // of each request: its index among the uses; empty: as they are
  BuildOrder wanted;

  uint32_t use_of(uint32_t request) const { return order.empty() ? request : order[request]; }
};

std::unique_ptr<OrderedRequests> order_requests(const AddressSpace& space, std::span<const SiteUse> uses, bool all_fresh) {
  auto ordered = std::make_unique<OrderedRequests>();
  const std::vector<SiteRequest>& first = space.sites.list_of(uses.front());
  bool whole = all_fresh && uses.size() == first.size() &&
               std::all_of(uses.begin(), uses.end(), [&](SiteUse use) { return use.list == uses.front().list; });
  if (whole) {
    ordered->wanted = {first, {}, space.sites.client_of(uses.front())};
    return ordered;
  }
  for (uint32_t i = 0; i < uses.size(); i++) ordered->order.push_back(i);
  std::sort(ordered->order.begin(), ordered->order.end(), [&](uint32_t a, uint32_t b) {
    return std::tuple(space.sites.client_of(uses[a]), uses[a]) < std::tuple(space.sites.client_of(uses[b]), uses[b]);
  });
  for (uint32_t i : ordered->order) {
    ordered->requests.push_back(space.sites.request(uses[i]));
    ordered->clients.push_back(space.sites.client_of(uses[i]));
  }
  ordered->wanted = {ordered->requests, ordered->clients, kOwnClient};
  return ordered;
}

// Copies of the sites that leave. Stubs in regions that other processes use, or that are about to go, are not used again.
std::vector<PatchedSite> former_sites(const AddressSpace& space, std::span<const PatchedSite> leaving, ClientId without) {
  std::vector<PatchedSite> former(leaving.begin(), leaving.end());
  for (PatchedSite& site : former) {
    for (auto& [id, client] : space.clients) {
      for (auto& region : client.regions) {
        if (region->contains(site.trampoline) && (region.use_count() > 1 || id == without)) site.keeps_stub = false;
      }
    }
  }
  return former;
}

// Removes sites from the journals that are not going to be written.
void strike_built(AddressSpace& space, const BuiltSites& built) {
  std::map<Address, Address> never;
  for (const PatchedSite& site : built.sites) never[site.begin] = site.trampoline;
  for (auto& [id, client] : space.clients) {
    for (auto& region : client.regions) {
      if (region.use_count() == 1) region->strike_from_journal(never);
    }
  }
}

// Why a request is not for the module with this identity; empty: it is. In another file other code may stand at the request's
// address.
std::string other_file(const std::string& identity, const SiteRequest& request) {
  if (request.module_identity.empty() || request.module_identity == identity) return "";
  return fmt::format("the process has mapped another file of that name (its build-id is {}, that of the file analyzed is {})",
                     identity.empty() ? "not known" : identity, request.module_identity);
}

// Whether a process that runs while its modules are looked at has unmapped one meanwhile. identity: as just read.
bool is_gone(pid_t pid, const Module& module, const std::string& identity) {
  if (module.is_vdso() || !identity.empty()) return false;
  const auto map = MemoryMap::read(pid);
  if (!map.ok()) return false;
  const Mapping* mapping = map->find(module.lowest.value);
  // Mapped again a few pages off, it covers the place, too.
  return !mapping || mapping->inode != module.inode || mapping->begin != module.lowest.value;
}

}  // namespace

void SiteArming::leave_alone(Address begin) {
  auto found = reported_of_.find(begin);
  if (found == reported_of_.end()) return;
  for (size_t i = 0; i < found->second.second; i++) {
    SiteOutcome& outcome = reported_[found->second.first + i].outcome;
    outcome.mechanism = Mechanism::kRefused;
    outcome.reason = "its text changed while it was being armed, or a goroutine stands in it; try again";
  }
}

std::vector<std::string> SiteArming::forget_gone_modules() {
  std::vector<std::string> paths;
  for (auto each = space_.modules.begin(); each != space_.modules.end();) {
    const Module& module = each->second.module;
    const auto first = gone_.lower_bound(module.lowest), last = gone_.lower_bound(module.highest);
    // A part of a module may be unmapped alone: then its other sites stand, and stay known.
    const auto stands = [&](const PatchedSite& site) {
      if (site.begin < module.lowest || site.begin >= module.highest) return false;
      const TextState state = text_at(space_.memory, site);
      return state == TextState::kPatched || state == TextState::kMixed;
    };
    if (first == last || std::ranges::any_of(space_.sites.in_text(), stands)) {
      ++each;
      continue;
    }
    for (auto begin = first; begin != last; ++begin) {
      const auto found = reported_of_.find(*begin);
      for (size_t i = 0; found != reported_of_.end() && i < found->second.second; i++)
        reported_[found->second.first + i].is_open = true;
    }
    space_.sites.forget_text(module.lowest, module.highest);
    space_.traps.forget_text(module.lowest, module.highest);
    paths.push_back(module.path);
    each = space_.modules.erase(each);
  }
  return paths;
}

void SiteArming::report(Reports& reports, uint64_t prepare_ns) {
  for (Reported& each : reported_)
    if (!each.is_open) reports[each.client].outcomes.push_back(std::move(each.outcome));
  for (auto& [client, report] : reports) {
    report.prepare_ns += prepare_ns;
    report.pause_ns = std::max(report.pause_ns, pause_ns_);
    report.total_pause_ns += total_pause_ns_;
  }
}

void SiteArming::refuse(const Client& client, uint32_t site_id, std::string reason) {
  reported_.push_back(
      {client.id, {.site_id = site_id, .pid = pid_, .mechanism = Mechanism::kRefused, .reason = std::move(reason)}});
}

// --- Requests ---

// Returns the requests that are for this very file. Refuses the others.
RequestList SiteArming::leave_out_other_files(const Client& client, const Module& module, const std::string& identity,
                                              RequestList list) {
  auto checked = [](const SiteRequest& request) { return !request.module_identity.empty(); };
  if (module.is_vdso() || std::none_of(list->begin(), list->end(), checked)) return list;
  std::vector<SiteRequest> fitting;
  for (const SiteRequest& request : *list) {
    std::string why = other_file(identity, request);
    if (why.empty()) fitting.push_back(request);
    else refuse(client, request.site_id, std::move(why));
  }
  if (fitting.size() == list->size()) return list;
  return std::make_shared<const std::vector<SiteRequest>>(std::move(fitting));
}

// Refuses requests that have no place in the module. Keeps the others in the space, and returns their uses.
std::vector<SiteUse> SiteArming::place_requests(const Client& client, Module& module, const std::string& identity,
                                                RequestList list) {
  list = leave_out_other_files(client, module, identity, std::move(list));
  bool calls = !list->empty() && list->back().is<SystemCallProbe>();
  if (calls && space_.calls.is_restricted()) return {};
  for (const SiteRequest& request : *list) {
    if (request.goroutine_list != FileAddress()) module.goroutines = Address(request.goroutine_list.value + module.bias);
  }
  const CheckedRequests& checked = places_.check(space_, module, list);
  for (auto& [site_id, reason] : checked.refused) refuse(client, site_id, reason);
  list = checked.list;
  auto take = [&](std::optional<PlacedSites> placed) {
    if (!placed) return;
    list = std::make_shared<const std::vector<SiteRequest>>(std::move(placed->sites));
    for (SiteOutcome& refused : placed->refused) reported_.push_back({client.id, std::move(refused)});
  };
  take(refuse_returns(space_, pid_, module, *list, clients_.own().return_readers));
  take(place_exits(space_, pid_, module, *list));
  return space_.sites.add_list(client.id, std::move(list));
}

// Builds new requests, together with those of sites that stand in their places: other clients' sites, or the same client's
// earlier ones.
Result<void> SiteArming::build_beside_others(const Module& module, std::span<const SiteUse> fresh) {
  std::vector<PatchedSite> leaving;
  if (!space_.sites.in_text().empty()) {
    std::vector<SiteRequest> requests;
    for (SiteUse use : fresh) requests.push_back(space_.sites.request(use));
    leaving = find_conflicts(space_, module, requests);
  }
  if (!leaving.empty()) {
    std::set<SiteUse> present;
    for (const PatchedSite& site : leaving) {
      for (SiteUse use : space_.sites.uses_of(site)) present.insert(use);
    }
    std::vector<SiteUse> all(present.begin(), present.end());
    all.insert(all.end(), fresh.begin(), fresh.end());
    // Written together with what other modules get: unwinders are ready when the first return is pending.
    if (build({module, all, present.size(), leaving}).ok()) return {};
  }
  return build({module, fresh});
}

Result<void> SiteArming::arm_module(LoadedModule& loaded) {
  Module& module = loaded.module;
  for (Client* client : clients_.in(space_)) {
    auto wanted = client->requests.find(module.path);
    if (wanted == client->requests.end() || loaded.lists_done[client->id] == wanted->second.size()) continue;
    if (awaits_text_relocations(pid_, space_.memory, module)) {
      // The dynamic linker makes them before it comes to its trap for the first time.
      if (module.main_executable && space_.traps.has_linker()) continue;
      for (size_t& done = loaded.lists_done[client->id]; done < wanted->second.size(); done++) {
        for (const SiteRequest& request : *wanted->second[done]) refuse(*client, request.site_id, kTextRelocations);
      }
      continue;
    }
    // It is armed when it is mapped again: then it is the same module, or another one, with lists that are not done.
    // If the module goes away after this, writing its sites finds that out.
    std::string identity;
    bool gone = false;
    // It may have been mapped again when the process' map is read.
    for (int look = 0; look < 3 && !module.is_vdso() && identity.empty() && !gone; ++look) {
      identity = identity_of(module, space_.memory);
      gone = is_gone(pid_, module, identity);
    }
    if (gone) continue;
    // A client sees what the one before it gets there.
    bool others = std::any_of(change_.coming.begin(), change_.coming.end(), [&](const PatchedSite& site) {
      return site.begin >= module.lowest && site.begin < module.highest && !space_.traps.is_trap_site(site.begin);
    });
    if (others) TRY_DO(apply());
    if (module.goroutine == 0) module.goroutine = find_goroutine_offset(space_, module);
    std::vector<SiteUse> fresh;
    for (size_t& done = loaded.lists_done[client->id]; done < wanted->second.size(); done++) {
      std::vector<SiteUse> uses = place_requests(*client, module, identity, wanted->second[done]);
      fresh.insert(fresh.end(), uses.begin(), uses.end());
    }
    if (!fresh.empty()) TRY_DO(build_beside_others(module, fresh));
  }
  return {};
}

// --- Building ---

// Breakpoints that can't be guarded against our own death are not set.
Result<void> SiteArming::guard(const Module& module, BuiltSites& built) {
  auto is_breakpoint = [](const PatchedSite& site) { return site.is_breakpoint(); };
  if (std::none_of(built.sites.begin(), built.sites.end(), is_breakpoint)) return {};
  SetupContext own = setup_for(tracer_, clients_.own());
  TRY(auto region, region_for(own, space_, module, 0, breakpoint_room()));
  auto guarded = guard_breakpoints(own, space_, *region, built.sites);
  if (guarded.ok()) return {};
  for (size_t i = built.sites.size(); i-- > 0;) {
    if (!is_breakpoint(built.sites[i])) continue;
    for (uint32_t n = 0; n < built.outcome_count[i]; n++) {
      SiteOutcome& outcome = built.outcomes[built.first_outcome[i] + n];
      outcome.mechanism = Mechanism::kRefused;
      outcome.reason = guarded.error().message;
    }
    auto drop = [&](auto& vector) { vector.erase(vector.begin() + static_cast<int64_t>(i)); };
    drop(built.sites);
    drop(built.first_outcome);
    drop(built.outcome_count);
  }
  return {};
}

// Switches off, also in new regions, the sites that clients have switched off.
void SiteArming::switch_off_sites() {
  for (auto& [id, client] : clients_.all()) {
    if (!space_.clients.contains(id)) continue;
    for (uint32_t site : client->switched_off) {
      for (auto& [other, each] : space_.clients) {
        for (auto& region : each.regions) region->switch_site(id, site, false);
      }
    }
  }
}

Result<void> SiteArming::build(const Rebuild& rebuild) {
  auto ordered = order_requests(space_, rebuild.uses, rebuild.fresh_from == 0);
  std::vector<PatchedSite> former = former_sites(space_, rebuild.leaving, rebuild.without), rest;
  if (!rebuild.leaving.empty()) rest = space_.sites.without(rebuild.leaving);
  std::span<const PatchedSite> standing = rebuild.leaving.empty() ? space_.sites.in_text() : rest;
  auto regions = [&](ClientId client, uint64_t count, uint64_t room) {
    SetupContext setup = setup_for(tracer_, *clients_.find(client));
    return region_for(setup, space_, rebuild.module, count, room);
  };
  auto stubs = [&](ClientId client, Region& region, std::span<const PunRange> ranges, Address target) {
    SetupContext setup = setup_for(tracer_, *clients_.find(client));
    return place_stub(setup, space_, region, ranges, target);
  };
  TRY(BuiltSites built,
      build_sites(space_, pid_, rebuild.module, ordered->wanted, {standing, former, space_.sites.reentries()}, regions, stubs));
  switch_off_sites();
  TRY_DO(guard(rebuild.module, built));
  auto is_fresh = [&](const BuiltOutcome& outcome) { return ordered->use_of(outcome.request) >= rebuild.fresh_from; };
  for (const BuiltOutcome& outcome : built.outcomes) {
    if (outcome.mechanism != Mechanism::kRefused || is_fresh(outcome)) continue;
    strike_built(space_, built);
    return Error{"the probes of other spiles leave too little room for this one", ""};
  }

  std::vector<SiteUse> uses;
  size_t first_report = reported_.size();
  std::vector<size_t> reported_before;  // of each outcome: how many of those before it are reported
  for (const BuiltOutcome& outcome : built.outcomes) {
    SiteUse use = rebuild.uses[ordered->use_of(outcome.request)];
    reported_before.push_back(reported_.size() - first_report);
    uses.push_back(use);
    bool is_reported = is_fresh(outcome) && !space_.sites.request(use).is<PatchRoom>();
    if (is_reported) reported_.push_back({space_.sites.client_of(use), outcome});
  }
  reported_before.push_back(reported_.size() - first_report);
  uint32_t first_use = space_.sites.add_uses(uses);
  for (PatchedSite& site : built.sites) {
    size_t from = reported_before[site.first_use], to = reported_before[site.first_use + site.use_count];
    reported_of_[site.begin] = {first_report + from, to - from};
    site.first_use += first_use;
    change_.coming.push_back(site);
  }
  foundations_.merge(built.foundations);
  change_.leaving.insert(change_.leaving.end(), rebuild.leaving.begin(), rebuild.leaving.end());
  return {};
}

// --- Writing ---

// Writes changes in portions, so that the target never stands still for long; a change that replaces sites is one portion. Sites
// with return probes come last: the sites of unwinders are armed before any return is pending. Short jumps come after their
// foundations.
Result<void> SiteArming::apply() {
  constexpr size_t kPortion = 4096;
  SiteChange change = std::exchange(change_, {});
  std::multimap<Address, Address> foundations = std::exchange(foundations_, {});
  std::vector<PatchedSite>& sites = change.coming;
  auto by_begin = [](const PatchedSite& a, const PatchedSite& b) { return a.begin < b.begin; };
  if (!change.leaving.empty()) {
    std::sort(sites.begin(), sites.end(), by_begin);
    std::sort(change.leaving.begin(), change.leaving.end(), by_begin);
    TRY_DO(apply_portion(std::move(change)).first);
    space_.sites.add_foundations(foundations);
    return {};
  }
  auto turn = [&](const PatchedSite& site) { return 2 * site.returns + foundations.contains(site.begin); };
  std::sort(sites.begin(), sites.end(), [&](const PatchedSite& a, const PatchedSite& b) {
    return std::make_tuple(turn(a), a.begin) < std::make_tuple(turn(b), b.begin);
  });
  std::set<Address> missing;
  auto lacks_foundation = [&](const PatchedSite& site) {
    auto [first, last] = foundations.equal_range(site.begin);
    return std::any_of(first, last, [&](const auto& pair) { return missing.contains(pair.second); });
  };
  for (size_t first = 0; first < sites.size();) {
    SiteChange portion;
    size_t end = first;
    for (; end < sites.size() && end - first < kPortion && turn(sites[end]) == turn(sites[first]); end++) {
      if (lacks_foundation(sites[end])) {
        missing.insert(sites[end].begin);
        leave_alone(sites[end].begin);
      } else {
        portion.coming.push_back(sites[end]);
      }
    }
    auto [applied, left] = apply_portion(std::move(portion));
    TRY_DO(applied);
    missing.merge(left);
    first = end;
  }
  std::erase_if(foundations, [&](const auto& pair) { return missing.contains(pair.first); });
  space_.sites.add_foundations(foundations);
  return {};
}

// Returns also the begins of sites that were left alone.
std::pair<Result<void>, std::set<Address>> SiteArming::apply_portion(SiteChange change) {
  auto applied = apply_change(tracer_, space_, std::move(change), patience_ms_);
  if (!applied.ok()) return {std::move(applied).error(), {}};
  pause_ns_ = std::max(pause_ns_, applied->pause_ns);
  total_pause_ns_ += applied->pause_ns;
  for (Address begin : applied->left_alone) leave_alone(begin);
  gone_.insert(applied->gone.begin(), applied->gone.end());
  return {Result<void>(), std::move(applied->left_alone)};
}

Result<void> SiteArming::rebuild_without(const std::function<bool(SiteUse)>& goes, const ClientSpace* region_of,
                                         ClientId without) {
  std::map<const Module*, std::vector<PatchedSite>> by_module;
  for (PatchedSite& site : find_sites(space_, goes, region_of)) {
    if (const Module* module = module_at(space_, site.begin)) by_module[module].push_back(std::move(site));
  }
  Result<void> result;
  for (auto& [module, leaving] : by_module) {
    std::set<SiteUse> others;
    for (const PatchedSite& site : leaving) {
      for (SiteUse use : space_.sites.uses_of(site)) {
        if (!goes(use)) others.insert(use);
      }
    }
    std::vector<SiteUse> staying(others.begin(), others.end());
    auto built = staying.empty() ? Result<void>() : build({*module, staying, staying.size(), leaving, without});
    if (staying.empty()) change_.leaving.insert(change_.leaving.end(), leaving.begin(), leaving.end());
    if (!built.ok()) result = std::move(built).error();
  }
  if (!result.ok()) return result;
  return apply();
}

}  // namespace spile::engine
