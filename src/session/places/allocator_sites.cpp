#include "session/places/allocator_sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "abi/trampoline.h"
#include "probes/terms/allocators.h"
#include "probes/terms/stack_owners.h"
#include "session/places/process_watch.h"
#include "session/places/site_requests.h"
#include "session/stacks/mapped_module.h"

namespace spile::session {

namespace {

// ORDER probes/process/process_allocator.cpp
bool is_of_allocators(const sema::Program& program, const sema::ArmedSite& armed) {
  return armed.site.module.empty() && armed.site.address.value != 0 && armed.site.address.value <= probes::kAllocatorRoles &&
         program.site_groups[static_cast<size_t>(armed.group)].system_call == sema::SiteGroup::kNoCall;
}

}  // namespace

AllocatorSites::AllocatorSites(const sema::Program& program, const codegen::TargetCode& code) : program_(program), code_(code) {
  for (size_t id = 0; id < program.sites.size(); ++id) {
    if (is_of_allocators(program, program.sites[id])) site_by_role_[program.sites[id].site.address.value - 1] = id;
  }
  wants_gifts_ = std::ranges::any_of(
      site_by_role_, [](const auto& site) { return probes::gives_memory(static_cast<probes::AllocatorRole>(site.first)); });
}

std::vector<engine::SiteRequest> AllocatorSites::in_module(pid_t pid, const engine::Module& mapped) {
  std::vector<engine::SiteRequest> sites;
  if (!are_wanted() || mapped.is_vdso()) return sites;
  auto options = options_for(pid, mapped);
  auto file = open_mapped(pid, mapped);
  if (!options.ok() || !file.ok()) return sites;
  const std::string opened = options->place_of(mapped.path);
  if (const probes::OwnHeap* heap = probes::own_heap_of(mapped.path, mapped.go); heap && own_heaps_.insert(mapped.path).second)
    warnings_.push_back(fmt::format("can't see allocations of {}'s own heap in {}: {}", heap->language, mapped.path, heap->hint));
  const probes::FileOwners owners(mapped.path, opened);
  bool gives = false;
  for (const probes::AllocatorFunction& function : probes::allocator_functions(*file->module, opened)) {
    gives |= probes::gives_memory(function.role);
    const auto wanted = site_by_role_.find(static_cast<size_t>(function.role));
    if (wanted == site_by_role_.end()) continue;
    const auto group = static_cast<size_t>(program_.sites[wanted->second].group);
    const probes::StackOwner* owner = owners.of(function.name);
    engine::SiteRequest site;
    site.site_id = static_cast<uint32_t>(wanted->second);
    site.module_path = mapped.path;
    site.module_identity = file->identity;
    site.address = function.address;
    site.size = function.size;
    site.probe = probe_of_group(program_, code_, group, owner ? owner->reason : std::string());
    site.flags = code_.groups[group].flags | (owner && owner->judges_faults ? abi::kTouchesStack : 0u);
    sites.push_back(std::move(site));
  }
  if (!gives && mapped.main_executable) {
    if (const std::string allocator = probes::unnamed_allocator(opened); !allocator.empty())
      warnings_.push_back(
          fmt::format("can't see allocations of the {} inside {}: its functions have no names there", allocator, mapped.path));
  }
  return sites;
}

void AllocatorSites::note_program(pid_t pid, const std::string& path) {
  if (!are_wanted() || path.empty()) return;
  programs_[pid] = path;
  if (!seen_.contains(path)) awaited_.emplace(path, Clock::now());
}

bool AllocatorSites::shows_allocator(const engine::SiteOutcome& outcome) const {
  const sema::ArmedSite* armed = program_.sites.script_site(outcome.site_id);
  if (!armed || outcome.mechanism == engine::Mechanism::kRefused || !is_of_allocators(program_, *armed)) return false;
  return !wants_gifts_ || probes::gives_memory(static_cast<probes::AllocatorRole>(armed->site.address.value - 1));
}

void AllocatorSites::note(const engine::ArmReport& report) {
  if (!are_wanted()) return;
  for (const engine::SiteOutcome& outcome : report.outcomes) {
    if (!shows_allocator(outcome)) continue;
    auto [program, is_new] = programs_.try_emplace(outcome.pid);
    if (is_new) program->second = program_of(outcome.pid);
    seen_.insert(program->second);
    awaited_.erase(program->second);
  }
}

std::vector<std::string> AllocatorSites::unseen(Clock::duration since) {
  std::vector<std::string> warnings = std::exchange(warnings_, {});
  std::erase_if(awaited_, [&](const auto& program) {
    const auto& [path, at] = program;
    if (Clock::now() - at < since) return false;
    if (seen_.insert(path).second && !own_heaps_.contains(path))
      warnings.push_back(fmt::format("can't see allocations of {}: no function of malloc's kind is known in it", path));
    return true;
  });
  return warnings;
}

}  // namespace spile::session
