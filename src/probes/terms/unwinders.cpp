#include "probes/terms/unwinders.h"

#include <algorithm>
#include <set>
#include <utility>

#include "debuginfo/elf/defined_symbols.h"
#include "debuginfo/elf/frame_lookup.h"

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

// Functions of unwinders themselves.
std::set<std::string_view> names_of_unwinders() {
  std::set<std::string_view> names = {"_Ux86_64_step"};  // libunwind for other processes, which walks no stack of its own
  for (const KnownName& known : kNames) {
    if (known.role != Role::kCaught) names.insert(known.name);
  }
  return names;
}

}  // namespace

bool may_have_unwinder(const std::string& path, const std::string& opened) {
  std::string name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libc++abi") || name.starts_with("libstdc++") || debuginfo::looks_up_frames(opened);
}

std::string unnamed_unwinder(const std::string& opened) {
  if (!debuginfo::looks_up_frames(opened) || debuginfo::mentions_any(opened, names_of_unwinders())) return {};
  auto module = debuginfo::Module::open(opened);  // its debug information may have them
  if (!module.ok() || (*module)->has_static_symbols()) return {};  // an unwinder's functions would be among these
  const bool has_names = std::ranges::any_of(unwinder_functions(**module),
                                             [](const UnwinderFunction& function) { return function.role != Role::kCaught; });
  if (has_names) return {};
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
