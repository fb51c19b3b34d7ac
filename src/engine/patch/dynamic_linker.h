#pragma once
// Learning of libraries as they are loaded. The dynamic linkers of glibc and musl call the empty function
// _dl_debug_state whenever their list of libraries has changed, for debuggers to put a breakpoint there (<link.h>,
// struct r_debug): after mapping them, before any of their constructors runs.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/space/address_space.h"

namespace spile::engine {

// The process's dynamic linker among its modules: the one that AT_BASE of its auxiliary vector names. nullptr if
// static.
const Module* find_linker(pid_t pid, const std::vector<Module>& modules);

// Address of a dynamic symbol, by the tables that the module's PT_DYNAMIC (in memory) leads to.
Result<Address> find_dynamic_symbol(const TargetMemory& memory, const Module& module, std::string_view name);

// Names in a module's dynamic section.
struct DynamicNames {
  std::vector<std::string> needed;
  std::set<std::string> imported;
  std::map<std::string, FileAddress> functions;  // that it defines
};
Result<DynamicNames> read_dynamic_names(const TargetMemory& memory, const Module& module);

// Builds a site at the entry of a function (_dl_debug_state, and those of rival_tracers.h) whose trampoline stops the thread with SIGTRAP
// while the controller is alive, and does nothing when it has died (it looks at the controller's robust futex in the arena). *trap:
// becomes the address of the int3; the thread stops behind it. only_for: the thread stops only if the function's first argument has one of
// these values; empty: whatever value it has.
Result<PatchedSite> build_trap(const AddressSpace& space, Address function, Region& region, std::span<const uint32_t> only_for, Address* trap);

}  // namespace spile::engine
