#include "engine/arming.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include "abi/arena.h"
#include "engine/change/overwritten.h"
#include "engine/change/removal.h"
#include "engine/patch/dynamic_linker.h"
#include "engine/process/memory_map.h"
#include "engine/process/refusal.h"
#include "engine/space/breakpoints.h"
#include "engine/space/fault_guard.h"
#include "engine/space/signal_actions.h"
#include "engine/space/space_calls.h"
#include "engine/space/thread_identities.h"

namespace spile::engine {
namespace {

using Clock = Tracer::Clock;

// Bytes of stack that a trampoline itself takes at most: registers, a red zone, and as much again in front of another client's
// handler.
constexpr uint64_t kTrampolineStack = 512;
constexpr uint64_t kUnknownStack = 32'768;

uint64_t nanoseconds(Clock::duration time) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

// Whether a trampoline of the site would call a handler that there is not.
bool lacks_handler(const SiteRequest& site) {
  if (const auto* entry = std::get_if<EntryProbe>(&site.probe)) return entry->enter == 0;
  if (const auto* instruction = std::get_if<InstructionProbe>(&site.probe)) return instruction->enter == 0;
  const auto* returns = std::get_if<ReturnProbe>(&site.probe);
  return returns && (returns->exit == 0 || (returns->enter == 0 && !(site.flags & abi::kReturnsInPlace)));
}

// Whether one of the clients asks for a site that would meet one at the function's entry.
bool has_request_at(const std::vector<Client*>& clients, const Module& module, FileAddress function) {
  const auto before = static_cast<uint64_t>(kMaxPatch), behind = uint64_t{2} * kMaxPatch;
  for (const Client* client : clients) {
    auto lists = client->requests.find(module.path);
    if (lists == client->requests.end()) continue;
    for (const RequestList& list : lists->second) {
      const bool meets = std::ranges::any_of(*list, [&](const SiteRequest& request) {
        return request.address.value + before > function.value && request.address.value < function.value + behind;
      });
      if (meets) return true;
    }
  }
  return false;
}

// Whether the client has places in programs to probe, besides all system calls.
bool wants_places(const Client* client) {
  return std::ranges::any_of(client->requests, [](const auto& of_module) {
    return std::ranges::any_of(of_module.second, [](const RequestList& list) {
      return std::ranges::any_of(*list,
                                 [](const SiteRequest& site) { return !site.is<SystemCallProbe>() && !site.is<PatchRoom>(); });
    });
  });
}

}  // namespace

// --- Clients and their requests ---

bool Arming::can_arm(const AddressSpace& space) { return !clients_.in(space).empty() || watches_tracing(space); }

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

void Arming::add_slots(AddressSpace& space, pid_t pid, ClientId id) {
  Client* client = clients_.find(id);
  if (!client || !client->arena_fd || !space.clients.contains(id)) return;  // the process has executed another program
  SetupContext setup = setup_for(tracer_, *client);
  auto grown = grow_arena(setup, space);
  if (!grown.ok()) note_failure(space, pid, std::move(grown).error().within("return probes miss new threads"), client);
}

void Arming::vacate_slots(const AddressSpace& space, pid_t pid) const {
  for (auto& [id, used] : space.clients) {
    const Client* client = clients_.find(id);
    if (client && client->arena_fd) engine::vacate_slots(used, client->arena_fd.get(), pid);
  }
}

void Arming::thread_ended(AddressSpace& space, const Thread& thread) const {
  bury_thread(space, thread);
  for (auto& [id, used] : space.clients) {
    const Client* client = clients_.find(id);
    if (client && client->arena_fd) free_overflow_slot(used, client->arena_fd.get(), thread.tid);
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

void Arming::take_out_overwritten(AddressSpace& space, pid_t pid) {
  std::set<Address> begins;
  for (const PatchedSite& site : find_overwritten(space)) begins.insert(site.begin);
  std::vector<PatchedSite> leaving = space.sites.with_foundations(begins);
  if (leaving.empty()) return;
  const std::vector<PatchedSite> lost = leaving;
  ArmingState::Change change(space.arming);
  auto changed = apply_change(tracer_, space, {.leaving = std::move(leaving), .coming = {}}, patience_ms_);
  if (!changed.ok()) return note_failure(space, pid, std::move(changed).error());
  for (const PatchedSite& site : lost) {
    if (!site.is_relay) space.note_overwritten(site.begin);
  }
  report_overwritten(space, pid);
}

void Arming::report_overwritten(AddressSpace& space, pid_t pid) {
  constexpr size_t kMostNamed = 4;
  const std::map<Address, std::string> places = std::exchange(space.overwritten, {});
  const bool keeps = std::exchange(space.keeps_code, false);
  if (places.empty()) return;
  std::string names;
  for (auto& [at, name] : places | std::views::take(kMostNamed)) names += (names.empty() ? "" : ", ") + name;
  if (places.size() > kMostNamed) names += ", ...";
  std::string text = fmt::format("probed places were overwritten, and hits there may be missing: {} ({})", places.size(), names);
  if (keeps)
    text += "; as what is there now may lead to it, the process keeps spile's code, which only passes on what comes there";
  note_trouble(pid, Error{text, ""});
}

// Scans handlers that have not been scanned yet. Nothing is armed before its handlers have passed.
Result<void> Arming::check_handlers(Client& client, std::span<const SiteRequest> sites) {
  if (std::ranges::any_of(sites, lacks_handler))
    return Error{"a probed place has no handler",
                 "in a bundle: somebody has changed it, make it again; else please report it with the script"};
  if (client.image.unchecked) return {};
  std::set<HandlerEntry> unchecked;
  for (const SiteRequest& site : sites) {
    const bool registers = site.flags & abi::kWantsRegisters;
    const auto* returns = std::get_if<ReturnProbe>(&site.probe);
    site.each_handler([&](uint32_t offset) {
      using Keeps = HandlerEntry::Keeps;
      const Keeps keeps = registers                             ? Keeps::kNone  // the trampoline has saved them
                          : returns && offset == returns->enter ? Keeps::kAllButResult
                          : returns && offset == returns->exit  ? Keeps::kAllButArguments
                                                                : Keeps::kAll;
      const HandlerEntry entry{offset, registers, keeps};
      if (!client.checked.contains(entry)) unchecked.insert(entry);
    });
  }
  if (unchecked.empty()) return {};
  const std::vector<HandlerEntry> entries(unchecked.begin(), unchecked.end());
  TRY(uint64_t stack, native_architecture().check_handlers(client.image, entries));
  // Only now: a client that sends a rejected handler again must be rejected again.
  client.checked.merge(unchecked);
  client.handler_stack = std::max(client.handler_stack, stack);
  return {};
}

void Arming::keep_requests(Client& client, std::span<const SiteRequest> sites) {
  std::map<std::string_view, std::vector<SiteRequest>> by_module;
  for (const SiteRequest& site : sites) {
    by_module[site.module_path].push_back(site);
    if (site.flags & abi::kTouchesStack) {
      by_module[site.module_path].back().touches =
          static_cast<uint32_t>(client.image.unchecked ? kUnknownStack : client.handler_stack + kTrampolineStack);
    }
    client.wants_returns |= site.is<ReturnProbe>() && !site.moves_returns;
    if ((site.flags & abi::kSwitchable) && !site.enabled) client.switched_off.insert(site.site_id);
  }
  for (auto& [path, list] : by_module) {
    client.requests[std::string(path)].push_back(std::make_shared<const std::vector<SiteRequest>>(std::move(list)));
  }
}

// Sites that were given to arm() may come once more when a module of theirs is asked about, and the other way round if another
// spile has ended, so that we trace.
Result<void> Arming::add_new_requests(Client& client, std::span<const SiteRequest> sites) {
  std::set<std::pair<std::string_view, std::pair<uint32_t, uint64_t>>> kept;
  for (const SiteRequest& site : sites) {
    const auto lists = client.requests.find(site.module_path);
    if (lists == client.requests.end() || kept.contains({lists->first, {}})) continue;
    kept.insert({lists->first, {}});
    for (const RequestList& list : lists->second) {
      for (const SiteRequest& known : *list) kept.insert({lists->first, {known.site_id + 1, known.address.value}});
    }
  }
  if (kept.empty()) return add_requests(client, sites);
  std::vector<SiteRequest> fresh;
  for (const SiteRequest& site : sites) {
    if (!kept.contains({site.module_path, {site.site_id + 1, site.address.value}})) fresh.push_back(site);
  }
  return add_requests(client, fresh);
}

Result<void> Arming::add_requests(Client& client, std::span<const SiteRequest> sites) {
  // Steps of an unwinder (unwind_sites.h in session) can't take turns: their two handlers frame a call.
  auto steps = [](const SiteRequest& site) { return site.moves_returns && site.is<ReturnProbe>(); };
  if (auto step = std::find_if(sites.begin(), sites.end(), steps); step != sites.end()) {
    for (auto& [id, other] : clients_.all()) {
      if (other.get() != &client && other->walks_by_steps) {
        return Error{fmt::format("{} walks stacks with libunwind: only one spile can have return probes in such a program, and "
                                 "another spile has",
                                 step->module_path),
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

// Sites that all clients share, as the dynamic linker's trap, use the arena and the regions of our own client. The client of a
// script without handlers for processes has no arena before this.
Result<void> Arming::ensure_own_arena() {
  Client& own = clients_.own();
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
    for (auto& [id, client] : clients_.all()) {
      if (!client->resolve_module || !ClientTable::follows(*client, space)) continue;
      if (!client->resolved.insert({module.device, module.inode}).second) continue;
      std::vector<SiteRequest> more = client->resolve_module(pid, module);
      if (auto added = add_new_requests(*client, more); !added.ok()) note_trouble(pid, added.error(), client.get());
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
  const StackOwnership& owns_stacks = clients_.own().owns_stacks;
  auto wants_returns = [](const auto& client) { return client.second->wants_returns; };
  if (!owns_stacks || !space.arming.return_obstacle().empty() || std::ranges::none_of(clients_.all(), wants_returns)) return {};
  for (auto& [path, loaded] : space.modules) {
    if (loaded.module.is_vdso()) continue;
    space.arming.set_return_obstacle(owns_stacks(pid, loaded.module));
    if (!space.arming.return_obstacle().empty()) break;
  }
  bool armed = std::ranges::any_of(space.sites.in_text(), [](const PatchedSite& site) { return site.returns; });
  if (space.arming.return_obstacle().empty() || !armed) return {};
  note_trouble(pid, Error{fmt::format("its returns are not probed any more: {}", space.arming.return_obstacle()), ""});
  auto removed = remove_all(tracer_, space, patience_ms_);
  report_overwritten(space, pid);
  TRY_DO(removed);
  TRY(MemoryMap map, MemoryMap::read(pid));
  refresh_modules(space, pid, find_modules(pid, map, space.memory));
  return {};
}

void Arming::describe_modules(AddressSpace& space, pid_t pid) {
  std::vector<Module> modules;
  for (Client* client : clients_.in(space)) {
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
    SetupContext own = setup_for(tracer_, clients_.own());
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

bool Arming::may_fault() const {
  return std::ranges::any_of(clients_.all(), [](const auto& client) { return !client.second->image.fixups.empty(); });
}

// Learns the actions that a running program has set. Actions that it sets later are learned when a thread is born or meets such a
// signal.
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
  for (Client* client : clients_.in(space)) {
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
  const bool foreign = is_32_bit(pid_of(space));
  auto arm = [&]() -> Result<void> {
    if (foreign && std::ranges::none_of(clients_.in(space), wants_places)) return {};  // ptrace reports its system calls
    if (foreign) return Error{"a 32-bit program", "only 64-bit programs can be probed in process"};
    ArmingState::Change change(space.arming);
    return build_and_apply(space, reports);
  };
  auto armed = arm();
  space.arming.set_refused(foreign || !armed.ok());
  if (clients_.own().probes_calls) calls_.settle(space, reports[kOwnClient].outcomes);
  return armed;
}

Result<void> Arming::build_and_apply(AddressSpace& space, Reports& reports) {
  std::vector<Client*> here = clients_.in(space);
  if (here.empty() && !watches_tracing(space)) return {};
  auto start = Clock::now();
  pid_t pid = pid_of(space);
  TRY(MemoryMap map, MemoryMap::read(pid));
  std::vector<Module> present = find_modules(pid, map, space.memory);
  Client& ours = clients_.own();
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
  SetupContext own = setup_for(tracer_, clients_.own());
  TRY_DO(map_arena(own, space));
  here = clients_.in(space);
  for (Client* client : here) {
    SetupContext setup = setup_for(tracer_, *client);
    TRY_DO(map_arena(setup, space));
    reports[client->id];
  }
  describe_modules(space, pid);

  std::vector<PatchedSite> traps;
  watch_linker(space, pid, traps);
  if (auto added = rivals_.add_traps(own, space, traps); !added.ok()) {
    note_failure(space, pid, std::move(added).error().within("it can't be released when another tracer attaches"));
  }
  if (clients_.own().image.keeps_values && space.clients.contains(kOwnClient) &&
      space.clients.at(kOwnClient).process_table.size() != 0) {
    auto is_probed = [&](const Module& module, FileAddress function) { return has_request_at(here, module, function); };
    if (auto added = changes_.add_counters(own, space, is_probed, traps); !added.ok()) note_failure(space, pid, added);
  }
  // Without room for it, faults are the tracer's alone.
  if (may_fault()) (void)prepare_fault_guard(own, space);
  TRY_DO(learn_actions(space));
  SiteArming sites = site_arming(space, pid);
  sites.add(traps);
  uint64_t prepare_ns = 0;
  auto arm_all = [&]() -> Result<void> {
    for (auto& [path, loaded] : space.modules) TRY_DO(sites.arm_module(loaded));
    prepare_ns = nanoseconds(Clock::now() - start) - sites.total_pause_ns();
    return sites.apply();
  };
  auto armed = arm_all();
  for (std::string& path : sites.forget_gone_modules())
    report_(nullptr, {.kind = Event::Kind::kModuleUnloaded, .pid = pid, .path = std::move(path)});
  sites.report(reports, prepare_ns);
  return armed;
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

SiteArming Arming::site_arming(AddressSpace& space, pid_t pid) {
  return SiteArming({tracer_, clients_, places_, patience_ms_}, space, pid);
}

// Builds the sites that serve the client anew for the other clients. last: all of its sites; else only those that move no
// returns.
Result<void> Arming::rebuild_without(AddressSpace& space, Client& client, bool last) {
  auto goes = [&](SiteUse use) {
    return space.sites.client_of(use) == client.id && (last || !space.sites.request(use).moves_returns);
  };
  return site_arming(space, pid_of(space)).rebuild_without(goes, last ? &space.clients.at(client.id) : nullptr, client.id);
}

Result<void> Arming::leave_calls(AddressSpace& space, pid_t sparing) {
  if (space.users.empty()) return {};
  ArmingState::Change change(space.arming);
  auto is_call = [&](SiteUse use) { return space.sites.request(use).is<SystemCallProbe>(); };
  auto left = site_arming(space, pid_of(space)).rebuild_without(is_call, nullptr, ~kOwnClient);
  if (left.ok() && !space.users.empty()) left = drain_calls(tracer_, space, sparing, patience_ms_);
  return left;
}

}  // namespace spile::engine
