#include "probes/terms/unwinders.h"

#include <set>
#include <utility>

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

}  // namespace

bool may_have_unwinder(const std::string& path, bool is_program) {
  std::string name = path.substr(path.rfind('/') + 1);
  return is_program || name.starts_with("libgcc_s") || name.starts_with("libunwind") || name.starts_with("libc++abi") ||
         name.starts_with("libstdc++");
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
