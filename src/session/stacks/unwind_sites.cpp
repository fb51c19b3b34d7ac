#include "session/stacks/unwind_sites.h"

#include "probes/terms/unwinders.h"
#include "session/stacks/mapped_module.h"

namespace spile::session {

namespace {

// A walk has two sites at one place: the first puts the return addresses back, the second makes them pending again at its end.
std::vector<engine::Probe> probes_of(probes::UnwinderFunction::Role role, const codegen::TargetCode& code) {
  using Role = probes::UnwinderFunction::Role;
  switch (role) {
    case Role::kWalk:
      return {engine::EntryProbe{code.unwind},
              engine::FunctionEndsProbe{.before_return = code.walked, .before_transfer = code.landing}};
    case Role::kStep: return {engine::ReturnProbe{.enter = code.step_enter, .exit = code.step_exit}};
    case Role::kCaught: return {engine::EntryProbe{code.caught}};
  }
  return {};
}

}  // namespace

std::vector<engine::SiteRequest> unwind_sites(pid_t pid, const engine::Module& mapped, uint32_t site_id,
                                              const codegen::TargetCode& code) {
  std::vector<engine::SiteRequest> sites;
  if (mapped.is_vdso()) return sites;
  auto options = options_for(pid, mapped);
  if (!options.ok() || !probes::may_have_unwinder(mapped.path, options->place_of(mapped.path))) return sites;
  auto file = open_mapped(pid, mapped);
  if (!file.ok()) return sites;
  for (const probes::UnwinderFunction& function : probes::unwinder_functions(*file->module)) {
    for (const engine::Probe& probe : probes_of(function.role, code)) {
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
  }
  return sites;
}

}  // namespace spile::session
