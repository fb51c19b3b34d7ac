#include "session/unwind_sites.h"

#include <set>

#include "debuginfo/debuginfo.h"
#include "session/mapped_module.h"

namespace spile::session {

namespace {

// The Itanium C++ ABI's level I ("Exception Handling", §1.5), and what backtrace(3) and libunwind's users walk with.
constexpr const char* kEntries[] = {"_Unwind_RaiseException", "_Unwind_ForcedUnwind", "_Unwind_Resume", "_Unwind_Resume_or_Rethrow",
                                    "_Unwind_Backtrace", "unw_backtrace"};
// The steps of walks that programs make themselves with LLVM's or the other libunwind. LLVM's level I is made of them too.
constexpr const char* kSteps[] = {"unw_step", "__unw_step", "_ULx86_64_step"};
// Where a C++ program is when an exception has been caught (the same ABI, §2.5.3). LLVM's libunwind lands elsewhere than
// in the above.
constexpr const char* kCaught = "__cxa_begin_catch";

bool may_have_unwinder(const std::string& path, bool main_executable) {
  std::string name = path.substr(path.rfind('/') + 1);
  return main_executable || name.starts_with("libgcc_s") || name.starts_with("libunwind") || name.starts_with("libc++abi") ||
         name.starts_with("libstdc++");
}

}  // namespace

std::vector<engine::SiteRequest> unwind_sites(pid_t pid, const engine::Module& mapped, uint32_t site_id, const codegen::TargetCode& code) {
  std::vector<engine::SiteRequest> sites;
  if (mapped.is_vdso() || !may_have_unwinder(mapped.path, mapped.main_executable)) return sites;
  auto file = open_mapped(pid, mapped);
  if (!file.ok()) return sites;
  debuginfo::Module& module = *file->module;
  std::set<std::pair<uint64_t, uint32_t>> known;  // addresses, of which some have two of the names, and handlers
  auto add = [&](const char* entry, uint32_t handler, const engine::Probe& probe) {
    auto functions = module.functions({.name = entry, .file = {}});
    if (!functions.ok()) return;
    for (const debuginfo::Function& function : *functions) {
      if (!known.insert({function.address.value, handler}).second) continue;
      engine::SiteRequest site;
      site.site_id = site_id;
      site.module_path = mapped.path;
      site.module_identity = file->identity;
      site.address = function.address;
      site.size = function.size;
      site.probe = probe;
      site.moves_returns = true;
      sites.push_back(site);
    }
  };
  for (const char* entry : kEntries) {
    add(entry, code.unwind, engine::EntryProbe{code.unwind});
    add(entry, code.walked, engine::FunctionEndsProbe{.before_return = code.walked, .before_transfer = code.landing});
  }
  for (const char* entry : kSteps) add(entry, code.step_enter, engine::ReturnProbe{.enter = code.step_enter, .exit = code.step_exit});
  add(kCaught, code.caught, engine::EntryProbe{code.caught});
  return sites;
}

}  // namespace spile::session
