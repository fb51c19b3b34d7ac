#pragma once
// Learning of libraries as they are loaded. The dynamic linkers of glibc and musl call the empty function
// _dl_debug_state whenever their list of libraries has changed, for debuggers to put a breakpoint there (<link.h>,
// struct r_debug): after mapping them, before any of their constructors runs. Reads of what a program says of itself in memory
// are bounded.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "engine/space/address_space.h"

namespace spile::engine {

// The process's dynamic linker among its modules: the one that AT_BASE of its auxiliary vector names. Null if the program is
// static, or the linker is not among `modules`. Points into `modules`.
const Module* find_linker(pid_t pid, const std::vector<Module>& modules);

// Returns the run-time address of a function that the module defines, by the tables that its PT_DYNAMIC (in memory) leads to.
// Fails if these can't be read, or have no such function.
Result<Address> find_dynamic_symbol(const TargetMemory& memory, const Module& module, std::string_view name);

// Names in a module's dynamic section.
struct DynamicNames {
  std::vector<std::string> needed;               // libraries (DT_NEEDED)
  std::set<std::string> imported;                // symbols that it does not define
  std::map<std::string, FileAddress> functions;  // that it defines
};
// Reads the names; only those of libraries if the module has no hash table of its symbols. Fails if it has no dynamic symbols.
Result<DynamicNames> read_dynamic_names(const TargetMemory& memory, const Module& module);

// Builds a site at the entry of a function (_dl_debug_state, and those of rival_tracers.h) whose trampoline stops the thread with
// SIGTRAP while the controller is alive, and does nothing when it has died (it looks at the controller's robust futex in the
// arena). Appends its code and its journal entry to `region`; the caller writes the patch. *trap: becomes the address of the
// int3; the thread stops behind it. only_for: the thread stops only if the function's first argument has one of these values;
// empty: whatever value it has. Fails if the entry can't have a jump. REQUIRES: kOwnClient's arena is mapped in `space`; `region`
// has room.
Result<PatchedSite> build_trap(const AddressSpace& space, Address function, Region& region, std::span<const uint32_t> only_for,
                               Address* trap);
// Builds a site at the entry of a function that counts in the 64-bit word `word` of the process, and nothing more. Otherwise as
// build_trap.
Result<PatchedSite> build_counter(const AddressSpace& space, Address function, Region& region, Address word);

}  // namespace spile::engine
