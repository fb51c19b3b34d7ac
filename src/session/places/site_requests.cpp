#include "session/places/site_requests.h"

#include <utility>

#include "abi/trampoline.h"
#include "debuginfo/debuginfo.h"
#include "probes/terms/go_programs.h"
#include "probes/terms/return_readers.h"
#include "probes/terms/stack_owners.h"
#include "probes/terms/unwinders.h"
#include "session/stacks/mapped_module.h"

namespace spile::session {

namespace {

// Makes of `ask` a function that the engine asks about each module of each process. Each path is looked into once: `opened` is
// where the file is found now (session/stacks/mapped_module.h).
template <typename Answer>
auto once_for_each_path(Answer (*ask)(const engine::Module& module, const std::string& opened)) {
  return [ask, known = std::map<std::string, Answer>()](pid_t pid, const engine::Module& module) mutable {
    auto [found, fresh] = known.try_emplace(module.path);
    if (fresh) {
      auto options = options_for(pid, module);
      found->second = ask(module, options.ok() ? options->place_of(module.path) : module.path);
    }
    return found->second;
  };
}

std::string why_stacks_are_owned(const engine::Module& module, const std::string& opened) {
  const probes::StackOwner* owner = probes::process_owner(module.path, module.main_executable, opened);
  return owner ? owner->reason : probes::unnamed_unwinder(opened);
}

engine::ReturnReaders return_readers_of(const engine::Module&, const std::string& opened) {
  probes::ReturnReaders readers = probes::return_readers_in(opened);
  return {.own = std::move(readers.own), .callers = std::move(readers.callers)};
}

// Answers what each file is asked for once.
class FileFacts {
 public:
  explicit FileFacts(const probes::ModuleFiles& files) : files_(files) {}

  FileAddress goroutine_list(const std::string& module) {
    auto [known, fresh] = lists_.try_emplace(module);
    if (fresh) known->second = probes::goroutine_list_of(module, probes::file_of(files_, module).options);
    return known->second;
  }
  const probes::StackOwner* owner_of(const sema::Site& site) {
    auto known = owners_.find(site.module);
    if (known == owners_.end()) {
      std::string opened = probes::file_of(files_, site.module).options.place_of(site.module);
      known = owners_.emplace(site.module, probes::FileOwners(site.module, opened)).first;
    }
    return known->second.of(site.function);
  }

 private:
  const probes::ModuleFiles& files_;
  std::map<std::string, FileAddress> lists_;
  std::map<std::string, probes::FileOwners> owners_;
};

}  // namespace

engine::Probe probe_of_group(const sema::Program& program, const codegen::TargetCode& code, size_t group, std::string obstacle) {
  const codegen::ImageEntry& entry = code.groups[group];
  if (entry.exit != 0) return engine::ReturnProbe{entry.enter, entry.exit, entry.entry, std::move(obstacle)};
  if (program.site_groups[group].inside_function) return engine::InstructionProbe{entry.enter};
  return engine::EntryProbe{entry.enter};
}

ScriptSites script_sites(const sema::Program& program, const codegen::TargetCode& code, const probes::ModuleFiles& files) {
  FileFacts facts(files);
  ScriptSites sites;
  sites.requests.reserve(program.sites.size());
  for (size_t id = 0; id < program.sites.size(); ++id) {
    const sema::ArmedSite& armed = program.sites[id];
    const auto group = static_cast<size_t>(armed.group);
    if (program.site_groups[group].system_call != sema::SiteGroup::kNoCall) continue;
    if (armed.site.module.empty()) continue;  // session/places/allocator_sites.h finds its places
    const probes::StackOwner* owner = facts.owner_of(armed.site);
    if (owner && owner->refuses_entries) {
      sites.unprobed[id] = owner->reason;
      continue;
    }
    const codegen::ImageEntry& entry = code.groups[group];
    engine::SiteRequest request;
    request.site_id = static_cast<uint32_t>(id);
    request.module_path = armed.site.module;
    request.module_identity = probes::file_of(files, armed.site.module).identity;
    request.address = armed.site.address;
    request.size = armed.site.size;
    request.function = armed.site.around;
    request.semaphore = armed.site.semaphore;
    if (armed.site.go) request.goroutine_list = facts.goroutine_list(armed.site.module);
    request.probe = probe_of_group(program, code, group, owner ? owner->reason : std::string());
    request.flags = entry.flags | (owner && owner->judges_faults ? abi::kTouchesStack : 0u);
    sites.requests.push_back(request);
  }
  return sites;
}

void guard_returns(engine::EngineOptions& options) {
  options.events.owns_stacks = once_for_each_path(why_stacks_are_owned);
  options.events.return_readers = once_for_each_path(return_readers_of);
}

}  // namespace spile::session
