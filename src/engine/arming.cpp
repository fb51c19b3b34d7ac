#include "engine/arming.h"

#include <errno.h>
#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <tuple>

#include "abi/arena.h"
#include "engine/change/removal.h"
#include "engine/patch/dynamic_linker.h"
#include "engine/patch/exit_sites.h"
#include "engine/patch/return_refusals.h"
#include "engine/patch/site_builder.h"
#include "engine/patch/text_relocations.h"
#include "engine/process/memory_map.h"
#include "engine/process/refusal.h"
#include "engine/space/breakpoints.h"
#include "engine/space/fault_guard.h"
#include "engine/space/goroutines.h"
#include "engine/space/signal_actions.h"
#include "engine/space/space_calls.h"
#include "engine/space/thread_identities.h"

namespace spile::engine {
namespace {

using Clock = Tracer::Clock;

constexpr const char* kTextRelocations =
    "its code is relocated at load time (-z notext), which has not happened yet; attach with -x when the program runs";

// Bytes of stack that a trampoline itself takes at most: registers, a red zone, and as much again in front of another client's handler.
constexpr uint64_t kTrampolineStack = 512;
constexpr uint64_t kUnknownStack = 32'768;

uint64_t nanoseconds(Clock::duration time) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

const Module* module_at(const AddressSpace& space, Address address) {
  for (auto& [path, loaded] : space.modules) {
    if (address >= loaded.module.lowest && address < loaded.module.highest) return &loaded.module;
  }
  return nullptr;
}

}  // namespace

// Sites that are built for one address space and not written yet, and the outcomes to report.
struct Arming::PendingChange {
  SiteChange change;
  std::vector<Reported> reported;
  std::map<Address, std::pair<size_t, size_t>> reported_of;  // of a coming site: first in `reported`, and how many
  std::multimap<Address, Address> foundations;           // as AddressSpace has them
  uint64_t prepare_ns = 0, pause_ns = 0, total_pause_ns = 0;

  void leave_alone(Address begin) {
    auto found = reported_of.find(begin);
    if (found == reported_of.end()) return;
    for (size_t i = 0; i < found->second.second; i++) {
      SiteOutcome& outcome = reported[found->second.first + i].outcome;
      outcome.mechanism = Mechanism::kRefused;
      outcome.reason = "its text changed while it was being armed, or a goroutine stands in it; try again";
    }
  }
  void distribute(Reports& reports) {
    for (Reported& each : reported) reports[each.client].outcomes.push_back(std::move(each.outcome));
    for (auto& [client, report] : reports) {
      report.prepare_ns += prepare_ns;
      report.pause_ns = std::max(report.pause_ns, pause_ns);
      report.total_pause_ns += total_pause_ns;
    }
  }
};

// --- Clients and their requests ---

Client& Arming::add_client() {
  auto client = std::make_unique<Client>();
  client->id = next_client_++;
  return *(clients_[client->id] = std::move(client));
}

Client* Arming::find_client(ClientId id) {
  auto found = clients_.find(id);
  return found == clients_.end() ? nullptr : found->second.get();
}

bool Arming::follows(const Client& client, const AddressSpace& space) const {
  return client.id == kOwnClient || std::any_of(space.users.begin(), space.users.end(), [&](const Process* process) {
           return client.follows.contains(process->pid);
         });
}

std::vector<Client*> Arming::clients_in(const AddressSpace& space) const {
  std::vector<Client*> found;
  for (auto& [id, client] : clients_) {
    if (client->can_arm() && follows(*client, space)) found.push_back(client.get());
  }
  return found;
}

bool Arming::can_arm(const AddressSpace& space) { return !clients_in(space).empty() || watches_tracing(space); }

// A program that may trace what we trace gets traps, even if it has no probes.
bool Arming::watches_tracing(const AddressSpace& space) {
  if (space.users.empty() || !space.memory.is_open()) return false;
  pid_t pid = pid_of(space);
  auto map = MemoryMap::read(pid);
  if (!map.ok()) return false;
  for (const Module& module : find_modules(pid, *map, space.memory)) {
    if (module.main_executable) return rivals_.may_trace(space.memory, module);
  }
  return false;
}

SetupContext Arming::context(const Client& client) {
  return {tracer_, client.image, client.geometry, client.arena_fd.get(), client.id};
}

void Arming::add_slots(AddressSpace& space, pid_t pid, ClientId id) {
  Client* client = find_client(id);
  if (!client || !client->arena_fd || !space.clients.contains(id)) return;  // the process has executed another program
  SetupContext setup = context(*client);
  auto grown = grow_arena(setup, space);
  if (!grown.ok()) note_failure(space, pid, std::move(grown).error().within("return probes miss new threads"), client);
}

void Arming::vacate_slots(const AddressSpace& space, pid_t pid) const {
  for (auto& [id, used] : space.clients) {
    auto client = clients_.find(id);
    if (client != clients_.end() && client->second->arena_fd) engine::vacate_slots(used, client->second->arena_fd.get(), pid);
  }
}

void Arming::note_failure(const AddressSpace& space, pid_t pid, const Result<void>& done, const Client* client) {
  if (!done.ok() && !is_leaving(space, pid)) note_trouble(pid, done.error(), client);
}

void Arming::note_trouble(pid_t pid, const Error& error, const Client* client) {
  report_(client, {.kind = Event::Kind::kTrouble,
                 .pid = pid,
                 .message = error.hint.empty() ? error.message : error.message + " (" + error.hint + ")"});
}

// Scans handlers that have not been scanned yet. Nothing is armed before its handlers have passed.
Result<void> Arming::check_handlers(Client& client, std::span<const SiteRequest> sites) {
  if (client.image.unchecked) return {};
  std::vector<HandlerEntry> fresh;
  for (const SiteRequest& site : sites) {
    bool registers = site.flags & abi::kWantsRegisters;
    site.each_handler([&](uint32_t offset) {
      if (client.checked.insert({offset, registers}).second) fresh.push_back({offset, registers});
    });
  }
  if (fresh.empty()) return {};
  TRY(uint64_t stack, native_architecture().check_handlers(client.image, fresh));
  client.handler_stack = std::max(client.handler_stack, stack);
  return {};
}

void Arming::keep_requests(Client& client, std::span<const SiteRequest> sites) {
  std::map<std::string_view, std::vector<SiteRequest>> by_module;
  for (const SiteRequest& site : sites) {
    by_module[site.module_path].push_back(site);
    if (site.flags & abi::kTouchesStack) {
      by_module[site.module_path].back().touches = static_cast<uint32_t>(client.image.unchecked ? kUnknownStack : client.handler_stack + kTrampolineStack);
    }
    client.wants_returns |= site.is<ReturnProbe>() && !site.moves_returns;
    if ((site.flags & abi::kSwitchable) && !site.enabled) client.switched_off.insert(site.site_id);
  }
  for (auto& [path, list] : by_module) {
    client.requests[std::string(path)].push_back(std::make_shared<const std::vector<SiteRequest>>(std::move(list)));
  }
}

Result<void> Arming::add_requests(Client& client, std::span<const SiteRequest> sites) {
  // Steps of an unwinder (unwind_sites.h in session) can't take turns: their two handlers frame a call.
  auto steps = [](const SiteRequest& site) { return site.moves_returns && site.is<ReturnProbe>(); };
  if (auto step = std::find_if(sites.begin(), sites.end(), steps); step != sites.end()) {
    for (auto& [id, other] : clients_) {
      if (other.get() != &client && other->walks_by_steps) {
        return Error{fmt::format("{} walks stacks with libunwind: only one spile can have return probes in such a program, and "
                                 "another spile has", step->module_path),
                     "leave out .return, or end the other one first"};
      }
    }
    client.walks_by_steps = true;
  }
  TRY_DO(check_handlers(client, sites));
  keep_requests(client, sites);
  return {};
}

void Arming::switch_sites(Client& client, std::span<const uint32_t> site_ids, bool on) {
  std::set<Region*> regions;
  for (auto& [pid, process] : tracer_.processes()) {
    if (!process->space) continue;
    for (auto& [id, each] : process->space->clients) {
      for (auto& region : each.regions) regions.insert(region.get());
    }
  }
  for (uint32_t id : site_ids) {
    if (on) {
      client.switched_off.erase(id);
    } else {
      client.switched_off.insert(id);
    }
    for (Region* region : regions) region->switch_site(client.id, id, on);
  }
}

// Sites that all clients share, as the dynamic linker's trap, use the arena and the regions of our own client. The client of a script
// without handlers for processes has no arena before this.
Result<void> Arming::ensure_own_arena() {
  Client& own = *clients_.at(kOwnClient);
  if (own.arena_fd) return {};
  own.geometry = {.size = abi::kPageSize};
  TRY(own.arena_fd, create_memory(kArenaName, own.geometry.size, false));
  TRY(own.hold, ArenaHold::take(own.arena_fd.get()));
  return {};
}

// The memory is gone before the end of the process is received.
bool Arming::has_left(const AddressSpace& space, pid_t pid) const {
  Process* process = tracer_.find_process(pid);
  if (!process || process->space.get() != &space || is_at_end(space)) return true;
  return space.memory.has_gone();
}

// --- Modules ---

// During an execve, threads end before the memory goes. When all threads stand still, the execve is over or has not begun.
bool Arming::is_leaving(const AddressSpace& space, pid_t pid) {
  if (has_left(space, pid)) return true;
  std::vector<Process*> users = space.users;
  if (tracer_.keep_still(users, patience_ms_).ok()) tracer_.let_go(space.users);
  return has_left(space, pid);
}

// Brings what we know of the modules up to date, asking for sites in those that a client has not seen before.
void Arming::refresh_modules(AddressSpace& space, pid_t pid, std::vector<Module> present) {
  std::map<std::string, LoadedModule> now;
  for (Module& module : present) {
    // Its path may have changed: the file was renamed, or deleted.
    std::string key = fmt::format("{:x}:{:x}:{:x}", module.device, module.inode, module.lowest.value);
    auto known = space.modules.find(key);
    bool same = known != space.modules.end() && known->second.module.bias == module.bias;
    if (same) module.path = known->second.module.path;
    for (auto& [id, client] : clients_) {
      if (!client->resolve_module || !follows(*client, space)) continue;
      if (!client->resolved.insert({module.device, module.inode}).second) continue;
      std::vector<SiteRequest> more = client->resolve_module(pid, module);
      if (auto added = add_requests(*client, more); !added.ok()) note_trouble(pid, added.error(), client.get());
    }
    if (!same) report_(nullptr, {.kind = Event::Kind::kModuleLoaded, .pid = pid, .path = module.path});
    LoadedModule loaded{std::move(module), {}};
    if (same) loaded.lists_done = known->second.lists_done;
    now.emplace(std::move(key), std::move(loaded));
  }
  for (auto& [key, old] : space.modules) {
    auto left = now.find(key);
    if (left != now.end() && left->second.module.bias == old.module.bias) continue;
    report_(nullptr, {.kind = Event::Kind::kModuleUnloaded, .pid = pid, .path = old.module.path});
    space.sites.forget_text(old.module.lowest, old.module.highest);
    space.traps.forget_text(old.module.lowest, old.module.highest);
  }
  space.modules = std::move(now);
}

// A runtime that owns its stacks may come late, as a library: then returns that are armed are taken out again, together with
// all else, which is armed anew.
Result<void> Arming::seek_stack_owner(AddressSpace& space, pid_t pid) {
  const StackOwnership& owns_stacks = clients_.at(kOwnClient)->owns_stacks;
  auto wants_returns = [](const auto& client) { return client.second->wants_returns; };
  if (!owns_stacks || !space.arming.return_obstacle().empty() || std::none_of(clients_.begin(), clients_.end(), wants_returns)) return {};
  for (auto& [path, loaded] : space.modules) {
    if (loaded.module.is_vdso()) continue;
    space.arming.set_return_obstacle(owns_stacks(pid, loaded.module));
    if (!space.arming.return_obstacle().empty()) break;
  }
  bool armed = std::ranges::any_of(space.sites.in_text(), [](const PatchedSite& site) { return site.returns; });
  if (space.arming.return_obstacle().empty() || !armed) return {};
  note_trouble(pid, Error{fmt::format("its returns are not probed any more: {}", space.arming.return_obstacle()), ""});
  TRY_DO(remove_all(tracer_, space, patience_ms_));
  TRY(MemoryMap map, MemoryMap::read(pid));
  refresh_modules(space, pid, find_modules(pid, map, space.memory));
  return {};
}

void Arming::describe_modules(AddressSpace& space, pid_t pid) {
  std::vector<Module> modules;
  for (Client* client : clients_in(space)) {
    if (!client->describe_modules) continue;
    if (modules.empty()) {
      for (auto& [path, loaded] : space.modules) {
        if (!loaded.module.is_vdso()) modules.push_back(loaded.module);  // no file that could be read
      }
    }
    space.clients[client->id].module_map = client->describe_modules(pid, modules);
  }
  write_module_maps(space);
}

void Arming::write_module_maps(AddressSpace& space) {
  for (auto& [id, client] : space.clients) {
    if (client.process_table.size() == 0 || client.module_map == 0) continue;
    (void)space.memory.write_value(client.process_table.begin + offsetof(abi::ProcessTable, module_map), client.module_map);
  }
}

void Arming::watch_linker(AddressSpace& space, pid_t pid, std::vector<PatchedSite>& sites) {
  if (!space.traps.begin_linker_search()) return;
  std::vector<Module> modules;
  for (auto& [path, loaded] : space.modules) modules.push_back(loaded.module);
  const Module* linker = find_linker(pid, modules);
  if (!linker) return;  // a static program
  auto watch = [&]() -> Result<void> {
    SetupContext own = context(*clients_.at(kOwnClient));
    TRY(Address function, find_dynamic_symbol(space.memory, *linker, "_dl_debug_state"));
    TRY(auto region, region_for(own, space, *linker, 1, 256 + breakpoint_room()));
    Address trap;
    TRY(PatchedSite site, build_trap(space, function, *region, {}, &trap));
    space.traps.set_linker(site.begin, trap);
    // Refused where the program handles SIGTRAP itself.
    (void)guard_trap(own, space, *region, trap);
    sites.push_back(site);
    return {};
  };
  if (auto watched = watch(); !watched.ok()) {
    note_failure(space, pid, std::move(watched).error().within("libraries loaded later will not be probed"));
  }
}

// --- Sites ---

// Breakpoints that can't be guarded against our own death are not set.
Result<void> Arming::guard(AddressSpace& space, const Module& module, BuiltSites& built) {
  auto is_breakpoint = [](const PatchedSite& site) { return site.is_breakpoint(); };
  if (std::none_of(built.sites.begin(), built.sites.end(), is_breakpoint)) return {};
  SetupContext own = context(*clients_.at(kOwnClient));
  TRY(auto region, region_for(own, space, module, 0, breakpoint_room()));
  auto guarded = guard_breakpoints(own, space, *region, built.sites);
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

namespace {

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
    for (auto& region : client.regions) region->strike_from_journal(never);
  }
}

}  // namespace

// Switches off, also in new regions, the sites that clients have switched off.
void Arming::switch_off_sites(AddressSpace& space) {
  for (auto& [id, client] : clients_) {
    if (!space.clients.contains(id)) continue;
    for (uint32_t site : client->switched_off) {
      for (auto& [other, each] : space.clients) {
        for (auto& region : each.regions) region->switch_site(id, site, false);
      }
    }
  }
}

Result<void> Arming::build(const Rebuild& rebuild, PendingChange& pending) {
  AddressSpace& space = rebuild.space;
  auto ordered = order_requests(space, rebuild.uses, rebuild.fresh_from == 0);
  std::vector<PatchedSite> former = former_sites(space, rebuild.leaving, rebuild.without), rest;
  if (!rebuild.leaving.empty()) rest = space.sites.without(rebuild.leaving);
  std::span<const PatchedSite> standing = rebuild.leaving.empty() ? space.sites.in_text() : rest;
  auto regions = [&](ClientId client, uint64_t count, uint64_t room) {
    SetupContext setup = context(*clients_.at(client));
    return region_for(setup, space, rebuild.module, count, room);
  };
  auto stubs = [&](ClientId client, Region& region, std::span<const PunRange> ranges, Address target) {
    SetupContext setup = context(*clients_.at(client));
    return place_stub(setup, space, region, ranges, target);
  };
  TRY(BuiltSites built,
      build_sites(space, rebuild.pid, rebuild.module, ordered->wanted, {standing, former, space.sites.reentries()}, regions, stubs));
  switch_off_sites(space);
  TRY_DO(guard(space, rebuild.module, built));
  auto is_fresh = [&](const BuiltOutcome& outcome) { return ordered->use_of(outcome.request) >= rebuild.fresh_from; };
  for (const BuiltOutcome& outcome : built.outcomes) {
    if (outcome.mechanism != Mechanism::kRefused || is_fresh(outcome)) continue;
    strike_built(space, built);
    return Error{"the probes of other spiles leave too little room for this one", ""};
  }

  std::vector<SiteUse> uses;
  size_t first_report = pending.reported.size();
  std::vector<size_t> reported_before;  // of each outcome: how many of those before it are reported
  for (const BuiltOutcome& outcome : built.outcomes) {
    SiteUse use = rebuild.uses[ordered->use_of(outcome.request)];
    reported_before.push_back(pending.reported.size() - first_report);
    uses.push_back(use);
    bool is_reported = is_fresh(outcome) && !space.sites.request(use).is<PatchRoom>();
    if (is_reported) pending.reported.push_back({space.sites.client_of(use), outcome});
  }
  reported_before.push_back(pending.reported.size() - first_report);
  uint32_t first_use = space.sites.add_uses(uses);
  for (PatchedSite& site : built.sites) {
    size_t from = reported_before[site.first_use], to = reported_before[site.first_use + site.use_count];
    pending.reported_of[site.begin] = {first_report + from, to - from};
    site.first_use += first_use;
    pending.change.coming.push_back(site);
  }
  pending.foundations.merge(built.foundations);
  pending.change.leaving.insert(pending.change.leaving.end(), rebuild.leaving.begin(), rebuild.leaving.end());
  return {};
}

namespace {

// Why a request is not for the module with this identity; empty: it is. In another file other code may stand at the request's address.
std::string other_file(const std::string& identity, const SiteRequest& request) {
  if (request.module_identity.empty() || request.module_identity == identity) return "";
  return fmt::format("the process has mapped another file of that name (its build-id is {}, that of the file analyzed is {})",
                     identity.empty() ? "not known" : identity, request.module_identity);
}

}  // namespace

// Returns the requests that are for this very file. Refuses the others.
RequestList Arming::leave_out_other_files(AddressSpace& space, pid_t pid, const Client& client, const Module& module, RequestList list,
                                          PendingChange& pending) {
  auto checked = [](const SiteRequest& request) { return !request.module_identity.empty(); };
  if (module.is_vdso() || std::none_of(list->begin(), list->end(), checked)) return list;
  const std::string identity = identity_of(module, space.memory);
  std::vector<SiteRequest> fitting;
  std::vector<SiteOutcome> refused;
  for (const SiteRequest& request : *list) {
    std::string why = other_file(identity, request);
    if (why.empty()) {
      fitting.push_back(request);
    } else {
      refused.push_back({.site_id = request.site_id, .pid = pid, .mechanism = Mechanism::kRefused, .reason = std::move(why)});
    }
  }
  if (refused.empty()) return list;
  for (SiteOutcome& outcome : refused) pending.reported.push_back({client.id, std::move(outcome)});
  return std::make_shared<const std::vector<SiteRequest>>(std::move(fitting));
}

// Refuses requests that have no place in the module. Keeps the others in the space, and returns their uses.
std::vector<SiteUse> Arming::place_requests(AddressSpace& space, pid_t pid, const Client& client, Module& module, RequestList list,
                                            PendingChange& pending) {
  list = leave_out_other_files(space, pid, client, module, std::move(list), pending);
  bool calls = !list->empty() && list->back().is<SystemCallProbe>();
  if (calls && space.calls.is_restricted()) return {};
  for (const SiteRequest& request : *list) {
    if (request.goroutine_list != FileAddress()) module.goroutines = Address(request.goroutine_list.value + module.bias);
  }
  const CheckedRequests& checked = places_.check(space, module, list);
  for (auto& [site_id, reason] : checked.refused) pending.reported.push_back({client.id, {site_id, pid, Mechanism::kRefused, reason}});
  list = checked.list;
  auto take = [&](std::optional<PlacedSites> placed) {
    if (!placed) return;
    list = std::make_shared<const std::vector<SiteRequest>>(std::move(placed->sites));
    for (SiteOutcome& refused : placed->refused) pending.reported.push_back({client.id, std::move(refused)});
  };
  take(refuse_returns(space, pid, module, *list, clients_.at(kOwnClient)->return_readers));
  take(place_exits(space, pid, module, *list));
  return space.sites.add_list(client.id, std::move(list));
}

// Builds new requests, together with those of sites that stand in their places: other clients' sites, or the same client's earlier ones.
Result<void> Arming::build_beside_others(AddressSpace& space, pid_t pid, const Module& module, std::span<const SiteUse> fresh, PendingChange& pending) {
  std::vector<PatchedSite> leaving;
  if (!space.sites.in_text().empty()) {
    std::vector<SiteRequest> requests;
    for (SiteUse use : fresh) requests.push_back(space.sites.request(use));
    leaving = find_conflicts(space, module, requests);
  }
  if (!leaving.empty()) {
    std::set<SiteUse> present;
    for (const PatchedSite& site : leaving) {
      for (SiteUse use : space.sites.uses_of(site)) present.insert(use);
    }
    std::vector<SiteUse> all(present.begin(), present.end());
    all.insert(all.end(), fresh.begin(), fresh.end());
    // Written together with what other modules get: unwinders are ready when the first return is pending.
    if (build({space, pid, module, all, present.size(), leaving}, pending).ok()) return {};
  }
  return build({space, pid, module, fresh}, pending);
}

Result<void> Arming::arm_module(AddressSpace& space, pid_t pid, LoadedModule& loaded, PendingChange& pending) {
  Module& module = loaded.module;
  for (Client* client : clients_in(space)) {
    auto wanted = client->requests.find(module.path);
    if (wanted == client->requests.end() || loaded.lists_done[client->id] == wanted->second.size()) continue;
    if (awaits_text_relocations(pid, space.memory, module)) {
      // The dynamic linker makes them before it comes to its trap for the first time.
      if (module.main_executable && space.traps.has_linker()) continue;
      for (size_t& done = loaded.lists_done[client->id]; done < wanted->second.size(); done++) {
        for (const SiteRequest& request : *wanted->second[done]) {
          pending.reported.push_back({client->id, {request.site_id, pid, Mechanism::kRefused, kTextRelocations}});
        }
      }
      continue;
    }
    // A client sees what the one before it gets there.
    bool others = std::any_of(pending.change.coming.begin(), pending.change.coming.end(), [&](const PatchedSite& site) {
      return site.begin >= module.lowest && site.begin < module.highest && !space.traps.is_trap_site(site.begin);
    });
    if (others) TRY_DO(apply(space, pending));
    if (module.goroutine == 0) module.goroutine = find_goroutine_offset(space, module);
    std::vector<SiteUse> fresh;
    for (size_t& done = loaded.lists_done[client->id]; done < wanted->second.size(); done++) {
      std::vector<SiteUse> uses = place_requests(space, pid, *client, module, wanted->second[done], pending);
      fresh.insert(fresh.end(), uses.begin(), uses.end());
    }
    if (!fresh.empty()) TRY_DO(build_beside_others(space, pid, module, fresh, pending));
  }
  return {};
}

bool Arming::may_fault() const {
  return std::any_of(clients_.begin(), clients_.end(),
                     [](const auto& client) { return !client.second->image.fixups.empty(); });
}

// Learns the actions that a running program has set. Actions that it sets later are learned when a thread is born or meets such a signal.
Result<void> Arming::learn_actions(AddressSpace& space) {
  if (space.users.size() != 1 || !(may_fault() || space.signal_code.handles_breakpoints())) return {};
  Process& process = *space.users.front();
  if (!should_learn_actions(process, ProcessStatus::read(process.pid))) return {};
  TRY(Thread * thread, borrow_thread(tracer_, space));
  auto learnt = learn_signal_actions(tracer_, *thread->process, *thread);
  tracer_.unhold(*thread);
  return learnt;
}

bool Arming::lacks_sites(const AddressSpace& space) const {
  if (space.arming.is_refused()) return false;
  for (Client* client : clients_in(space)) {
    if (space.modules.empty()) return true;  // it has not been looked at yet
    for (auto& [key, loaded] : space.modules) {
      auto wanted = client->requests.find(loaded.module.path);
      auto done = loaded.lists_done.find(client->id);
      if (wanted != client->requests.end() && wanted->second.size() > (done == loaded.lists_done.end() ? 0 : done->second)) {
        return true;
      }
    }
  }
  return false;
}

Result<void> Arming::arm_space(AddressSpace& space, Reports& reports) {
  if (leaving_ || space.users.empty()) return {};
  auto armed = [&] {
    ArmingState::Change change(space.arming);
    return build_and_apply(space, reports);
  }();
  space.arming.set_refused(!armed.ok());
  if (clients_.at(kOwnClient)->probes_calls) calls_.settle(space, reports[kOwnClient].outcomes);
  return armed;
}

Result<void> Arming::build_and_apply(AddressSpace& space, Reports& reports) {
  std::vector<Client*> here = clients_in(space);
  if (here.empty() && !watches_tracing(space)) return {};
  auto start = Clock::now();
  pid_t pid = pid_of(space);
  TRY(MemoryMap map, MemoryMap::read(pid));
  std::vector<Module> present = find_modules(pid, map, space.memory);
  Client& ours = *clients_.at(kOwnClient);
  if (ours.probes_calls) {
    if (auto vdso = CallWatch::find_vdso(map, space.memory)) present.push_back(std::move(*vdso));
  }
  if (ours.probes_calls) TRY_DO(calls_.seek_restriction(space));
  refresh_modules(space, pid, std::move(present));
  TRY_DO(seek_stack_owner(space, pid));
  for (auto& [path, loaded] : space.modules) {
    if (ours.probes_calls) TRY_DO(add_requests(ours, calls_.requests_for(space, loaded.module)));
  }
  TRY_DO(ensure_own_arena());
  SetupContext own = context(*clients_.at(kOwnClient));
  TRY_DO(map_arena(own, space));
  here = clients_in(space);
  for (Client* client : here) {
    SetupContext setup = context(*client);
    TRY_DO(map_arena(setup, space));
    reports[client->id];
  }
  describe_modules(space, pid);

  PendingChange pending;
  watch_linker(space, pid, pending.change.coming);
  if (auto added = rivals_.add_traps(own, space, pending.change.coming); !added.ok()) {
    note_failure(space, pid, std::move(added).error().within("it can't be released when another tracer attaches"));
  }
  // Without room for it, faults are the tracer's alone.
  if (may_fault()) (void)prepare_fault_guard(own, space);
  TRY_DO(learn_actions(space));
  auto arm_all = [&]() -> Result<void> {
    for (auto& [path, loaded] : space.modules) TRY_DO(arm_module(space, pid, loaded, pending));
    pending.prepare_ns = nanoseconds(Clock::now() - start) - pending.total_pause_ns;
    return apply(space, pending);
  };
  auto armed = arm_all();
  pending.distribute(reports);
  return armed;
}

// Writes changes in portions, so that the target never stands still for long; a change that replaces sites is one portion. Sites with
// return probes come last: the sites of unwinders are armed before any return is pending. Short jumps come after their foundations.
Result<void> Arming::apply(AddressSpace& space, PendingChange& pending) {
  constexpr size_t kPortion = 4096;
  SiteChange change = std::exchange(pending.change, {});
  std::multimap<Address, Address> foundations = std::exchange(pending.foundations, {});
  std::vector<PatchedSite>& sites = change.coming;
  auto by_begin = [](const PatchedSite& a, const PatchedSite& b) { return a.begin < b.begin; };
  if (!change.leaving.empty()) {
    std::sort(sites.begin(), sites.end(), by_begin);
    std::sort(change.leaving.begin(), change.leaving.end(), by_begin);
    TRY_DO(apply_portion(space, std::move(change), pending).first);
    space.sites.add_foundations(foundations);
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
        pending.leave_alone(sites[end].begin);
      } else {
        portion.coming.push_back(sites[end]);
      }
    }
    auto [applied, left] = apply_portion(space, std::move(portion), pending);
    TRY_DO(applied);
    missing.merge(left);
    first = end;
  }
  std::erase_if(foundations, [&](const auto& pair) { return missing.contains(pair.first); });
  space.sites.add_foundations(foundations);
  return {};
}

// Returns also the begins of sites that were left alone.
std::pair<Result<void>, std::set<Address>> Arming::apply_portion(AddressSpace& space, SiteChange change, PendingChange& pending) {
  auto applied = apply_change(tracer_, space, std::move(change), patience_ms_);
  if (!applied.ok()) return {std::move(applied).error(), {}};
  pending.pause_ns = std::max(pending.pause_ns, applied->pause_ns);
  pending.total_pause_ns += applied->pause_ns;
  for (Address begin : applied->left_alone) pending.leave_alone(begin);
  return {Result<void>(), std::move(applied->left_alone)};
}

Result<void> Arming::drop_client(AddressSpace& space, Client& client) {
  if (!space.clients.contains(client.id) || space.users.empty()) return {};
  ArmingState::Change change(space.arming);
  // The sites of unwinders go last, when no return is pending, nor can become pending.
  TRY_DO(rebuild_without(space, client, false));
  TRY_DO(drain_client(tracer_, space, client.id, patience_ms_));
  TRY_DO(rebuild_without(space, client, true));
  for (auto& [path, loaded] : space.modules) loaded.lists_done.erase(client.id);
  return remove_client(tracer_, space, client.id, patience_ms_);
}

// Builds the sites that serve the client anew for the other clients. last: all of its sites; else only those that move no returns.
Result<void> Arming::rebuild_without(AddressSpace& space, Client& client, bool last) {
  auto goes = [&](SiteUse use) { return space.sites.client_of(use) == client.id && (last || !space.sites.request(use).moves_returns); };
  return rebuild_without(space, goes, last ? &space.clients.at(client.id) : nullptr, client.id);
}

Result<void> Arming::leave_calls(AddressSpace& space, pid_t sparing) {
  if (space.users.empty()) return {};
  ArmingState::Change change(space.arming);
  auto is_call = [&](SiteUse use) { return space.sites.request(use).is<SystemCallProbe>(); };
  auto left = rebuild_without(space, is_call, nullptr, ~kOwnClient);
  if (left.ok() && !space.users.empty()) left = drain_calls(tracer_, space, sparing, patience_ms_);
  return left;
}

// Takes out the sites that have such a use, or lie in the regions of `region_of` (nullptr: none), and builds them anew for their other uses.
// without: this client's regions are about to go.
Result<void> Arming::rebuild_without(AddressSpace& space, const std::function<bool(SiteUse)>& goes, const ClientSpace* region_of,
                                     ClientId without) {
  pid_t pid = pid_of(space);
  std::map<const Module*, std::vector<PatchedSite>> by_module;
  for (PatchedSite& site : find_sites(space, goes, region_of)) {
    if (const Module* module = module_at(space, site.begin)) by_module[module].push_back(std::move(site));
  }
  PendingChange pending;
  Result<void> result;
  for (auto& [module, leaving] : by_module) {
    std::set<SiteUse> others;
    for (const PatchedSite& site : leaving) {
      for (SiteUse use : space.sites.uses_of(site)) {
        if (!goes(use)) others.insert(use);
      }
    }
    std::vector<SiteUse> staying(others.begin(), others.end());
    auto built = staying.empty() ? Result<void>() : build({space, pid, *module, staying, staying.size(), leaving, without}, pending);
    if (staying.empty()) pending.change.leaving.insert(pending.change.leaving.end(), leaving.begin(), leaving.end());
    if (!built.ok()) result = std::move(built).error();
  }
  if (!result.ok()) return result;
  return apply(space, pending);
}

}  // namespace spile::engine
