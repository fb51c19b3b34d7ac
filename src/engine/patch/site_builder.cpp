#include "engine/patch/site_builder.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "engine/space/breakpoints.h"

namespace spile::engine {
namespace {

constexpr uint64_t kAlignmentRoom = 64;
// How many frames of different clients may share a stack slot: two at a function that two clients probe, and more where
// such functions jump to each other at their ends.
constexpr int kTurns = 16;

void enter_in_journal(const PatchedSite& site, Region& region) {
  JournalEntry entry{};
  entry.address = site.begin.value;
  memcpy(entry.original, site.original, kMaxPatch);
  memcpy(entry.patched, site.patched, kMaxPatch);
  entry.length = site.overwritten;
  entry.semaphore = site.semaphore.value;
  entry.relay = site.relay.value;
  entry.body = site.body.value;
  entry.call_original = site.call_original;
  entry.call = site.call;
  entry.behind_call = site.behind_call;
  entry.trampoline_offset = static_cast<uint32_t>(site.trampoline - region.address());
  region.append_journal(entry);
}

using Regions = std::map<ClientId, std::shared_ptr<Region>>;

// The clients with requests for the group's first instruction.
std::set<ClientId> clients_at(const Group& group, const BuildOrder& order) {
  std::set<ClientId> clients;
  for (uint32_t index : group.requests) clients.insert(order.client(index));
  if (clients.empty()) clients.insert(order.client(0));  // a neighbor that makes room
  return clients;
}

// What the trampoline calls for a request. image: where the code image of the request's client lies.
Fragment fragment_of(const SiteRequest& request, Address image, ClientId client, uint8_t offset, int32_t goroutine) {
  struct Handlers {
    abi::SiteKind kind;
    uint32_t enter = 0, exit = 0;
  };
  struct Alternatives {
    Handlers operator()(const EntryProbe& entry) { return {abi::SiteKind::kEntry, entry.enter}; }
    Handlers operator()(const ReturnProbe& returns) { return {abi::SiteKind::kReturn, returns.enter, returns.exit}; }
    Handlers operator()(const InstructionProbe& instruction) { return {abi::SiteKind::kInstruction, instruction.enter}; }
    Handlers operator()(const SystemCallProbe& call) { return {abi::SiteKind::kSystemCall, call.enter, call.exit}; }
    Handlers operator()(const ReturnInstructionProbe& instruction) { return {abi::SiteKind::kExit, instruction.exit}; }
    Handlers operator()(const PatchRoom&) { return {abi::SiteKind::kRoom}; }
    Handlers operator()(const FunctionEndsProbe&) {
      CHECK(false && "place_exits has made instructions of it");
      return {};
    }
  };
  Handlers handlers = std::visit(Alternatives{}, request.probe);
  Address exit = handlers.exit == 0 ? Address() : image + handlers.exit;
  return {.kind = handlers.kind,
          .flags = request.flags,
          .site_id = request.site_id,
          .enter = image + handlers.enter,
          .exit = exit,
          .client = client,
          .offset = offset,
          .touches = request.touches,
          .goroutine = goroutine};
}

// Emits what the groups of one module need into regions.
class Emission {
 public:
  Emission(const Module& module, const BuildOrder& order, std::vector<Group>& groups, const Regions& regions,
           const StubSource& stubs, std::span<const PatchedSite> leaving)
      : module_(module), order_(order), groups_(groups), regions_(regions), stubs_(stubs), leaving_(leaving) {}

  // Makes one site, or two: a short jump and its relay. Tries a breakpoint where a better patch fails.
  Result<std::vector<PatchedSite>> emit(size_t index) {
    Group& group = groups_[index];
    auto emitted = try_emit(index);
    bool last = group.plan.mechanism == Mechanism::kInt3 || group.absorbed != 0;
    if (emitted.ok() || last) return emitted;
    fall_back(group, group.original, 1);
    if (group.plan.mechanism == Mechanism::kRefused) return Error{group.plan.reason, ""};
    return try_emit(index);
  }

 private:
  // What the client's trampoline calls for the window's begin; where it has the displaced instructions, also what all clients'
  // probes behind the begin call.
  std::vector<Fragment> fragments(size_t index, ClientId client, bool displaces) const {
    std::vector<Fragment> made;
    for (size_t i = index; i <= index + groups_[index].absorbed; i++) {
      uint8_t offset = static_cast<uint8_t>(i == index ? 0 : groups_[i].entry - groups_[index].plan.begin);
      std::vector<uint32_t> turns = shared_turns(groups_[i]);
      auto add = [&](uint32_t request_index) {
        const SiteRequest& request = order_.requests[request_index];
        if (request.is<PatchRoom>()) return;
        ClientId whose = order_.client(request_index);
        made.push_back(fragment_of(request, regions_.at(whose)->image(), whose, offset, module_.goroutine));
      };
      for (int turn = 0; displaces && !turns.empty() && turn < kTurns; turn++) {
        for (uint32_t request_index : turns) add(request_index);
      }
      for (uint32_t request_index : groups_[i].requests) {
        if (!turns.empty() && order_.requests[request_index].moves_returns) continue;
        // A call is made where the displaced instructions are, between its handlers.
        bool call = order_.requests[request_index].is<SystemCallProbe>();
        if (i == index && !call ? order_.client(request_index) == client : displaces) add(request_index);
      }
    }
    return made;
  }
  // The requests of the group whose handlers are called in turns (SiteRequest::moves_returns). Empty if only one client has such.
  std::vector<uint32_t> shared_turns(const Group& group) const {
    std::vector<uint32_t> found;
    if (order_.clients.empty()) return found;
    std::set<ClientId> whose;
    for (uint32_t index : group.requests) {
      if (!order_.requests[index].moves_returns) continue;
      found.push_back(index);
      whose.insert(order_.client(index));
    }
    if (whose.size() < 2) found.clear();
    return found;
  }
  Result<Trampoline> make_trampoline(size_t index, ClientId client, Address continues) const {
    const Group& group = groups_[index];
    SitePlan plan = group.plan;
    plan.continues = continues;
    return native_architecture().emit_trampoline(plan, group.original, fragments(index, client, continues == Address()),
                                                 regions_.at(client)->next());
  }
  Address keep_trampoline(const Trampoline& trampoline, Region& region) const {
    for (const Gate& gate : trampoline.gates) {
      region.add_switch(gate.client, gate.site_id, {region.next() + gate.offset, gate.on, gate.off});
    }
    return region.append_code(trampoline.code);
  }
  Result<std::vector<PatchedSite>> try_emit(size_t index) {
    Group& group = groups_[index];
    std::set<ClientId> clients = clients_at(group, order_);
    // From the last client, whose trampoline has the displaced instructions, to the first, to whose trampoline the text leads.
    ClientId head = *clients.begin(), tail = *clients.rbegin();
    Region& region = *regions_.at(head);
    TRY(Trampoline trampoline, make_trampoline(index, tail, Address()));
    Address body = head == tail ? region.next() : keep_trampoline(trampoline, *regions_.at(tail));
    Trampoline first = trampoline;
    Address next = body;
    for (auto client = std::next(clients.rbegin()); client != clients.rend(); ++client) {
      TRY(first, make_trampoline(index, *client, next));
      if (*client != head) next = keep_trampoline(first, *regions_.at(*client));
    }
    uint8_t stub_size = 0;
    bool takes_stub = false;
    const bool is_punned = group.plan.mechanism == Mechanism::kPunned;
    if (const std::vector<PunRange> ranges = stub_ranges(group.plan); !ranges.empty()) {
      auto stub = former_stub(group.plan, ranges, region.next(), &stub_size);
      takes_stub = stub.has_value();
      if (!stub) stub = stubs_(head, region, ranges, region.next());
      // Memory for the stub does not change region.next().
      if (!stub && is_punned) return Error{"no room for a punned jump", ""};
      if (stub && !takes_stub) stub_size = static_cast<uint8_t>(native_architecture().emit_stub(stub->at, region.next()).size());
      group.plan.relay = stub ? stub->at : Address();
      if (is_punned) group.plan.prefixes = stub->range.prefixes;
      if (is_punned) group.plan.overwritten = stub->range.overwritten;
    }
    TRY(PatchedSite site, build_site(group.plan, group.original, trampoline, region.next(), 0));
    site.body = body;
    if (stub_size != 0) {
      site.stub = group.plan.relay;
      site.stub_size = stub_size;
      site.takes_stub = takes_stub;
    }
    for (size_t i = index; i <= index + group.absorbed; i++) note_requests(groups_[i], site);
    std::vector<PatchedSite> sites = {site};
    if (group.plan.mechanism == Mechanism::kShortJump && group.carrier == Address()) {
      SitePlan plan;
      plan.mechanism = Mechanism::kJump;
      plan.begin = group.plan.relay;
      plan.window = plan.overwritten = kRelaySize;
      TRY(PatchedSite relay, build_site(plan, group.padding, Trampoline{}, region.next(), 0));
      relay.returns = site.returns;
      relay.is_relay = true;
      sites.push_back(relay);
    }
    keep_trampoline(first, region);
    return sites;
  }
  // Where the stub of a jump may be that needs one, or had better lead to one: if another tracer writes into the jump, its stub
  // lies where the thread is caught. Of very many sites the stubs would need too much memory.
  std::vector<PunRange> stub_ranges(const SitePlan& plan) const {
    constexpr size_t kMostGuarded = 1024;
    constexpr int64_t kReach = int64_t{1} << 31;
    if (plan.mechanism == Mechanism::kPunned) return plan.puns;
    if (plan.mechanism != Mechanism::kJump || plan.guarded == 0 || plan.lead != 0 || groups_.size() > kMostGuarded) return {};
    const Address behind = plan.begin + plan.overwritten;
    const Address low = behind.value > kReach ? behind + -kReach : Address();
    return {{0, plan.overwritten, low, static_cast<uint64_t>(behind + kReach - low), plan.guarded, behind}};
  }
  // The place for a stub is often the only one: that of the site which is replaced leads to the new trampoline then.
  std::optional<PlacedStub> former_stub(const SitePlan& plan, std::span<const PunRange> ranges, Address target,
                                        uint8_t* size) const {
    auto former = std::find_if(leaving_.begin(), leaving_.end(), [&](const PatchedSite& site) {
      return site.begin == plan.begin && site.stub != Address() && site.keeps_stub;
    });
    if (former == leaving_.end()) return {};
    for (const PunRange& range : ranges) {
      if (range.overwritten != former->overwritten || former->stub < range.low ||
          former->stub >= range.low + static_cast<int64_t>(range.count) ||
          native_architecture().emit_stub(former->stub, target).size() > former->stub_size) {
        continue;
      }
      *size = former->stub_size;
      return PlacedStub{range, former->stub};
    }
    return {};
  }
  void note_requests(const Group& group, PatchedSite& site) const {
    for (uint32_t index : group.requests) {
      const SiteRequest& request = order_.requests[index];
      if (request.semaphore != FileAddress()) site.semaphore = Address(request.semaphore.value + module_.bias);
      if (request.is<ReturnProbe>()) site.returns = true;
    }
  }

  const Module& module_;
  const BuildOrder& order_;
  std::vector<Group>& groups_;
  const Regions& regions_;
  const StubSource& stubs_;
  std::span<const PatchedSite> leaving_;
};

Result<Regions> find_regions(const Module& module, const std::vector<Group>& groups, const BuildOrder& order,
                             const RegionSource& source) {
  struct Need {
    uint64_t sites = 0, room = 0;
  };
  std::map<ClientId, Need> needs;
  bool breakpoints = false;
  for (size_t i = 0; i < groups.size(); i++) {
    const Group& group = groups[i];
    if (group.plan.mechanism == Mechanism::kRefused) continue;
    breakpoints |= group.plan.mechanism == Mechanism::kInt3 || group.plan.mechanism == Mechanism::kPunned;
    std::vector<Fragment> fragments;
    for (uint32_t index : group.requests) {
      int times = order.requests[index].moves_returns && !order.clients.empty() ? kTurns + 1 : 1;
      fragments.insert(fragments.end(), static_cast<size_t>(times),
                       fragment_of(order.requests[index], Address(), kOwnClient, 0, module.goroutine));
    }
    for (ClientId client : clients_at(group, order)) {
      Need& need = needs[client];
      need.sites += group.plan.mechanism == Mechanism::kShortJump ? 2 : 1;
      need.room += native_architecture().trampoline_room(fragments) + kAlignmentRoom;
    }
    // The fragments of a group that the group before has absorbed are in that one's trampoline, which may be any client's.
    if (group.is_absorbed && !order.clients.empty()) {
      for (auto& [client, need] : needs) need.room += native_architecture().trampoline_room(fragments);
    }
  }
  Regions regions;
  for (auto& [client, need] : needs) {
    // The region of our own client has the table of all breakpoints.
    if (breakpoints && client == kOwnClient) need.room += breakpoint_room();
    TRY(regions[client], source(client, need.sites, need.room));
  }
  return regions;
}

}  // namespace

Result<PatchedSite> build_site(const SitePlan& plan, std::span<const uint8_t> original, const Trampoline& trampoline, Address at,
                               uint32_t prefix) {
  PatchedSite site;
  site.begin = plan.begin;
  site.trampoline = site.body = at;
  site.trampoline_size = prefix + static_cast<uint32_t>(trampoline.code.size());
  site.window = plan.window;
  site.overwritten = plan.overwritten;
  site.falls_through = plan.falls_through;
  site.call_original = trampoline.call_original;
  site.call = trampoline.call;
  site.behind_call = trampoline.behind_call;
  if (plan.mechanism == Mechanism::kShortJump) site.relay = plan.relay;
  memcpy(site.original, original.data(), std::min<size_t>(original.size(), kMaxPatch));
  std::vector<uint8_t> jump = native_architecture().emit_jump(plan, at);
  CHECK(jump.size() == plan.overwritten && jump.size() <= kMaxPatch);
  memcpy(site.patched, jump.data(), jump.size());
  if (trampoline.boundaries.size() > kMaxBoundaries) return Error{"too many instructions in its first bytes", ""};
  for (const Boundary& boundary : trampoline.boundaries) {
    site.boundaries[site.boundary_count++] = {boundary.original, static_cast<uint16_t>(boundary.relocated + prefix)};
  }
  return site;
}

namespace {

// Puts the sites that were emitted together.
class Assembly {
 public:
  Assembly(BuiltSites& built, const std::vector<Group>& groups, std::span<const SiteRequest> requests, const Regions& regions,
           pid_t pid)
      : built_(built), groups_(groups), requests_(requests), regions_(regions), pid_(pid) {
    for (const Group& group : groups_) {
      if (group.carrier != Address()) rested_on_.insert({group.carrier, group.second_byte_from});
    }
  }

  // Whether the patches that a group's short jump rests on have become what it was planned with.
  bool has_foundations(const Group& group) const {
    auto stands = [&](Address at) {
      const Group* other = group_before(groups_, at);
      return sites_.contains(at) && other && other->entry == at && other->plan.mechanism == Mechanism::kJump;
    };
    if (group.second_byte_from != Address() && !stands(group.second_byte_from)) return false;
    if (!stands(group.carrier)) return false;
    int64_t end = group.plan.relay + kRelaySize - group.carrier;
    return end <= kMaxPatch && static_cast<uint64_t>(end) <= group_before(groups_, group.carrier)->original.size();
  }
  void add(size_t index, std::vector<PatchedSite> made, const std::string& reason) {
    const Group& group = groups_[index];
    size_t first_outcome = built_.outcomes.size();
    Mechanism mechanism = made.empty() ? Mechanism::kRefused : group.plan.mechanism;
    for (size_t i = index; i <= index + group.absorbed; i++) {
      for (uint32_t request : groups_[i].requests) {
        built_.outcomes.push_back({{requests_[request].site_id, pid_, mechanism, reason}, request});
      }
    }
    if (!made.empty() && group.carrier != Address()) rest_on(group, made[0]);
    if (made.size() > 1) built_.foundations.insert({made[0].begin, made[1].begin});
    for (PatchedSite& site : made) {
      site.first_use = static_cast<uint32_t>(first_outcome);
      site.use_count = static_cast<uint32_t>(built_.outcomes.size() - first_outcome);
      if (rested_on_.contains(site.begin)) sites_[site.begin] = built_.sites.size();
      built_.sites.push_back(site);
      built_.first_outcome.push_back(static_cast<uint32_t>(first_outcome));
      built_.outcome_count.push_back(static_cast<uint32_t>(built_.outcomes.size() - first_outcome));
    }
  }
  void finish() {
    for (const PatchedSite& site : built_.sites) {
      for (auto& [client, region] : regions_) {
        if (region->contains(site.trampoline)) enter_in_journal(site, *region);
      }
    }
  }

 private:
  // Writes the near jump into the carrier's patch.
  void rest_on(const Group& group, PatchedSite& site) {
    PatchedSite& carrier = built_.sites[sites_.at(group.carrier)];
    SitePlan plan;
    plan.mechanism = Mechanism::kJump;
    plan.begin = group.plan.relay;
    std::vector<uint8_t> jump = native_architecture().emit_jump(plan, site.trampoline);
    uint8_t offset = static_cast<uint8_t>(plan.begin - carrier.begin);
    uint8_t before = carrier.overwritten;
    if (before < offset) memcpy(carrier.patched + before, carrier.original + before, offset - before);
    memcpy(carrier.patched + offset, jump.data(), jump.size());
    carrier.overwritten = std::max<uint8_t>(carrier.overwritten, offset + kRelaySize);
    for (Address foundation : {group.carrier, group.second_byte_from}) {
      if (foundation == Address()) continue;
      built_.foundations.insert({site.begin, foundation});
      site.returns |= built_.sites[sites_.at(foundation)].returns;
    }
  }

  BuiltSites& built_;
  const std::vector<Group>& groups_;
  std::span<const SiteRequest> requests_;
  const Regions& regions_;
  pid_t pid_;
  std::set<Address> rested_on_;
  std::map<Address, size_t> sites_;  // of these: where in built_
};

}  // namespace

Result<BuiltSites> build_sites(const AddressSpace& space, pid_t pid, const Module& module, const BuildOrder& order,
                               const Surroundings& around, const RegionSource& region_source, const StubSource& stub_source) {
  BuiltSites built;
  if (order.requests.empty()) return built;
  std::vector<Group> groups = lay_out_sites(space, module, order.requests, around);
  TRY(Regions regions, find_regions(module, groups, order, region_source));
  // Groups whose relays are in the patches of others come after those others.
  Assembly assembly(built, groups, order.requests, regions, pid);
  for (bool has_carrier : {false, true}) {
    for (size_t i = 0; i < groups.size(); i += 1 + groups[i].absorbed) {
      if ((groups[i].carrier != Address()) != has_carrier) continue;
      std::vector<PatchedSite> made;
      std::string reason = groups[i].plan.reason;
      if (groups[i].plan.mechanism != Mechanism::kRefused) {
        if (has_carrier && !assembly.has_foundations(groups[i])) {
          groups[i].carrier = groups[i].second_byte_from = Address();
          fall_back(groups[i], groups[i].original, 1);
        }
        Emission emission(module, order, groups, regions, stub_source, around.leaving);
        auto emitted = emission.emit(i);
        if (emitted.ok()) {
          made = std::move(emitted).value();
        } else {
          reason = emitted.error().message;
        }
      }
      assembly.add(i, std::move(made), reason);
    }
  }
  assembly.finish();
  return built;
}

}  // namespace spile::engine
