#include "engine/space/address_space.h"

#include <fmt/format.h>

#include <algorithm>

#include "abi/arena.h"

namespace spile::engine {

void AddressSpace::inherit(const AddressSpace& parent) {
  system_call = parent.system_call;
  clients = parent.clients;
  modules = parent.modules;
  sites.inherit(parent.sites);
  traps = parent.traps;
  signal_code = parent.signal_code;
  calls.inherit(parent.calls);
  arming.inherit(parent.arming);
}

void AddressSpace::forget_sites() {
  sites = {};
  modules.clear();
  traps = {};
  calls.forget_sites();
}

bool AddressSpace::is_mapped() const {
  auto there = [&](const AddressRange& range) { return range.size() == 0 || memory.read_value<uint64_t>(range.begin).ok(); };
  return std::all_of(clients.begin(), clients.end(), [&](auto& entry) {
    const ClientSpace& client = entry.second;
    return there(client.arena) && there(client.process_table) && (client.code.empty() || there(client.code.back()));
  });
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

void AddressSpace::note_overwritten(Address begin) {
  std::string name = fmt::format("{:#x}", begin.value);
  for (auto& [key, loaded] : modules) {
    const Module& module = loaded.module;
    if (begin < module.lowest || begin >= module.highest) continue;
    name = fmt::format("{}+{:#x}", module.path.substr(module.path.rfind('/') + 1), begin.value - module.bias);
  }
  overwritten.emplace(begin, std::move(name));
}

bool AddressSpace::empty() const {
  return std::all_of(clients.begin(), clients.end(), [](auto& each) {
    const ClientSpace& client = each.second;
    return client.code.empty() && client.arena.size() == 0 && client.process_table.size() == 0;
  });
}

}  // namespace spile::engine
