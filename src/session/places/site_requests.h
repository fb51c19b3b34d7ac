#pragma once
// The places of a script in processes, as the engine is asked for them.

#include <map>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "engine/engine.h"
#include "probes/terms/probes.h"
#include "sema/terms/program.h"

namespace spile::session {

struct ScriptSites {
  std::vector<engine::SiteRequest> requests;
  std::map<size_t, std::string> unprobed;  // by site id: why a site is not requested
};
// files: in which the places were found.
ScriptSites script_sites(const sema::Program& program, const codegen::TargetCode& code, const probes::ModuleFiles& files);

// Returns what is probed at the sites of a group (sema::Program::site_groups). obstacle: why returns can't be probed there; "":
// they can.
engine::Probe probe_of_group(const sema::Program& program, const codegen::TargetCode& code, size_t group, std::string obstacle);

// Keeps return probes away from code in the traced programs that reads return addresses on the stack: sets owns_stacks and
// return_readers.
void guard_returns(engine::EngineOptions& options);

}  // namespace spile::session
