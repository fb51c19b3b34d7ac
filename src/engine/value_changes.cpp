#include "engine/value_changes.h"

#include <algorithm>

#include "engine/patch/dynamic_linker.h"

namespace spile::engine {
namespace {

// prctl(2) names threads, as pthread_setname_np(3) does; the others are of credentials(7). `syscall` makes any call.
constexpr const char* kFunctions[] = {
    "prctl",    "pthread_setname_np", "setuid",   "seteuid",  "setreuid", "setresuid", "setgid",    "setegid",
    "setregid", "setresgid",          "setfsuid", "setfsgid", "unshare",  "setns",     "initgroups"};

}  // namespace

const std::vector<FileAddress>& ValueChanges::functions_of(const TargetMemory& memory, const Module& module) {
  auto [known, fresh] = known_.try_emplace({module.device, module.inode});
  if (!fresh) return known->second;
  const auto names = read_dynamic_names(memory, module);
  if (!names.ok()) return known->second;
  std::set<uint64_t> found;  // names of one function
  for (const char* name : kFunctions) {
    auto function = names->functions.find(name);
    if (function != names->functions.end() && found.insert(function->second.value).second)
      known->second.push_back(function->second);
  }
  return known->second;
}

Result<void> ValueChanges::add_counters(SetupContext& own, AddressSpace& space, IsProbed is_probed,
                                        std::vector<PatchedSite>& sites) {
  const Address table = space.clients.at(kOwnClient).process_table.begin;
  const Address word = table + offsetof(abi::ProcessTable, changes);
  auto keep_nothing = [&] {
    space.traps.miss_changes();
    return space.memory.write_value(table + offsetof(abi::ProcessTable, keeps_nothing), uint64_t{1});
  };
  for (auto& [path, loaded] : space.modules) {
    const Module& module = loaded.module;
    if (module.is_vdso()) continue;
    for (FileAddress each : functions_of(space.memory, module)) {
      const Address function(each.value + module.bias);
      if (space.traps.has_counter(function)) continue;
      if (is_probed(module, each)) {
        TRY_DO(keep_nothing());
        continue;
      }
      TRY(auto region, region_for(own, space, module, 1, 256));
      auto site = build_counter(space, function, *region, word);
      if (!site.ok()) {
        TRY_DO(keep_nothing());
        continue;
      }
      space.traps.add_counter(function, site->begin);
      sites.push_back(*site);
    }
  }
  return {};
}

}  // namespace spile::engine
