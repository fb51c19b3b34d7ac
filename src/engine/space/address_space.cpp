#include "engine/space/address_space.h"

#include <errno.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "abi/arena.h"

namespace spile::engine {

std::optional<Address> PatchedSite::relocated(Address pc) const {
  for (size_t i = 0; i < boundary_count; i++) {
    if (begin + boundaries[i].original == pc) return body + boundaries[i].relocated;
  }
  return {};
}

std::optional<Address> PatchedSite::restored(Address pc) const {
  if (pc == trampoline) return begin;
  for (size_t i = 0; i < boundary_count; i++) {
    if (body + boundaries[i].relocated == pc) return begin + boundaries[i].original;
  }
  return {};
}

Result<std::shared_ptr<ArenaHeaderView>> ArenaHeaderView::open(int arena_fd) {
  void* view = mmap(nullptr, abi::kPageSize, PROT_READ | PROT_WRITE, MAP_SHARED, arena_fd, 0);
  if (view == MAP_FAILED) return Error::from_errno("map an arena's header", errno);
  return std::make_shared<ArenaHeaderView>(static_cast<abi::ArenaHeader*>(view));
}

ArenaHeaderView::~ArenaHeaderView() { munmap(header_, abi::kPageSize); }

uint64_t ArenaHeaderView::taken_slots() const {
  uint64_t count = 0;
  for (uint64_t& word : header_->taken) count += static_cast<uint64_t>(std::popcount(std::atomic_ref(word).load(std::memory_order_relaxed)));
  return count;
}

void ArenaHeaderView::give_back(uint64_t slot) {
  if (slot >= abi::kMostSlots) return;
  std::atomic_ref(header_->taken[slot / 64]).fetch_and(~(uint64_t{1} << slot % 64), std::memory_order_relaxed);
}

void AddressSpace::inherit(const AddressSpace& parent) {
  system_call = parent.system_call;
  clients = parent.clients;
  sites = parent.sites;
  placed = parent.placed;
  uses = parent.uses;
  retired = parent.retired;
  foundations = parent.foundations;
  reentries = parent.reentries;
  modules = parent.modules;
  linker_trap = parent.linker_trap;
  linker_sought = parent.linker_sought;
  linker_site = parent.linker_site;
  tracing_traps = parent.tracing_traps;
  trap_table = parent.trap_table;
  trap_count = parent.trap_count;
  fault_action = parent.fault_action;
  refused = parent.refused;
  no_returns = parent.no_returns;
  calls_gap = parent.calls_gap;
  call_restriction = parent.call_restriction;
  restriction_sought = parent.restriction_sought;
  call_refusal = parent.call_refusal;
}

bool AddressSpace::is_mapped() const {
  auto there = [&](const AddressRange& range) { return range.size() == 0 || memory.read_value<uint64_t>(range.begin).ok(); };
  return std::all_of(clients.begin(), clients.end(), [&](auto& entry) {
    const ClientSpace& client = entry.second;
    return there(client.arena) && there(client.process_table) && (client.code.empty() || there(client.code.back()));
  });
}

bool PatchedSite::is_breakpoint() const {
  return overwritten != 0 && native_architecture().is_breakpoint(patched);
}

bool AddressSpace::is_trap_site(Address begin) const {
  return begin == linker_site || std::any_of(tracing_traps.begin(), tracing_traps.end(), [&](const TracingTrap& trap) { return trap.site == begin; });
}

bool AddressSpace::in_code(Address address) const {
  for (auto& [id, client] : clients) {
    for (const AddressRange& range : client.code) {
      if (range.contains(address)) return true;
    }
  }
  return false;
}

bool AddressSpace::has_code() const {
  return std::any_of(clients.begin(), clients.end(), [](auto& client) { return !client.second.code.empty(); });
}

Address AddressSpace::scratch() const {
  for (auto& [id, client] : clients) {
    if (client.process_table.size() != 0) return client.process_table.begin + sizeof(abi::ProcessTable);
  }
  return {};
}

bool AddressSpace::empty() const {
  return std::all_of(clients.begin(), clients.end(), [](auto& each) {
    const ClientSpace& client = each.second;
    return client.code.empty() && client.arena.size() == 0 && client.process_table.size() == 0;
  });
}

void AddressSpace::forget_sites() {
  sites.clear();
  is_restored = false;
  retired.clear();
  reentries.clear();
  foundations.clear();
  uses.clear();
  placed.clear();
  modules.clear();
  linker_trap = Address();
  linker_sought = false;
  tracing_traps.clear();
  calls_gap = kNotArmed;
  call_refusal.clear();
}

const PatchedSite* AddressSpace::breakpoint_at(Address address) const {
  auto found = std::lower_bound(sites.begin(), sites.end(), address,
                                [](const PatchedSite& site, Address value) { return site.begin < value; });
  if (found == sites.end() || found->begin != address || !found->is_breakpoint()) return nullptr;
  return &*found;
}

const PatchedSite* site_at(std::span<const PatchedSite> sites, Address address) {
  auto after = std::upper_bound(sites.begin(), sites.end(), address,
                                [](Address value, const PatchedSite& site) { return value < site.begin; });
  if (after == sites.begin()) return nullptr;
  const PatchedSite& site = *std::prev(after);
  return address <= site.begin + site.window ? &site : nullptr;
}

}  // namespace spile::engine
