#include "probes/terms/unwinders.h"

#include <algorithm>
#include <set>
#include <utility>

#include "debuginfo/elf/unwinder_traces.h"

namespace spile::probes {

namespace {

using Role = UnwinderFunction::Role;

struct KnownName {
  const char* name;
  Role role;
};
constexpr KnownName kNames[] = {
    // The Itanium C++ ABI's level I ("Exception Handling", section 1.5), and what backtrace(3) and libunwind's users walk with.
    {"_Unwind_RaiseException", Role::kWalk},
    {"_Unwind_ForcedUnwind", Role::kWalk},
    {"_Unwind_Resume", Role::kWalk},
    {"_Unwind_Resume_or_Rethrow", Role::kWalk},
    {"_Unwind_Backtrace", Role::kWalk},
    {"unw_backtrace", Role::kWalk},
    // The steps of walks that programs make themselves with LLVM's or the other libunwind. LLVM's level I is made of them, too.
    {"unw_step", Role::kStep},
    {"__unw_step", Role::kStep},
    {"_ULx86_64_step", Role::kStep},
    // The same ABI, section 2.5.3. LLVM's libunwind lands elsewhere than in the functions above.
    {"__cxa_begin_catch", Role::kCaught},
};

debuginfo::UnwinderNames names_of_unwinders() {
  debuginfo::UnwinderNames names{.any = {}, .all = {"_Unwind_RaiseException", "_Unwind_Resume"}, .harmless = {"_Ux86_64_step"}};
  for (const KnownName& known : kNames) {
    if (known.role != Role::kCaught) names.any.insert(known.name);
  }
  return names;
}

}  // namespace

bool may_have_unwinder(const std::string& path, const std::string& opened) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("libc++abi") || name.starts_with("libstdc++")) return true;
  const debuginfo::UnwinderTraces traces = debuginfo::traces_of_unwinder(opened, names_of_unwinders());
  return traces.is_named || traces.is_unnamed;
}

std::string unnamed_unwinder(const std::string& opened) {
  const debuginfo::UnwinderNames names = names_of_unwinders();
  if (!debuginfo::traces_of_unwinder(opened, names).is_unnamed) return {};
  auto module = debuginfo::Module::open(opened);  // its debug information may have the names
  if (!module.ok()) return {};
  const auto is_found = [&](std::string_view name) {
    auto functions = (*module)->functions({.name = std::string(name), .file = {}});
    return functions.ok() && !functions->empty();
  };
  if (std::ranges::all_of(names.all, is_found)) return {};
  return "an unwinder in it, or in a library of it, has no names (it was stripped), so it can't be kept from the probes' "
         "addresses";
}

std::vector<UnwinderFunction> unwinder_functions(debuginfo::Module& module) {
  std::vector<UnwinderFunction> found;
  std::set<std::pair<uint64_t, Role>> known;
  for (const KnownName& wanted : kNames) {
    auto functions = module.functions({.name = wanted.name, .file = {}});
    if (!functions.ok()) continue;
    for (const debuginfo::Function& function : *functions) {
      if (known.insert({function.address.value, wanted.role}).second)
        found.push_back({wanted.role, function.address, function.size});
    }
  }
  return found;
}

}  // namespace spile::probes
