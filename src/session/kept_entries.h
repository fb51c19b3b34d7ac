#pragma once
// The entries of functions whose registers handlers further on in them ask for (Program::kept_functions), as sites.

#include <span>
#include <vector>

#include "codegen/codegen.h"
#include "engine/engine.h"
#include "probes/probes.h"
#include "sema/program.h"

namespace spile::session {

struct KeptEntries {
  std::vector<engine::SiteRequest> sites;
  // Indexes of functions that are left out: their code jumps back to their first instruction, so that not every time that it
  // is come to is an entry; or it can't be read.
  std::vector<size_t> unclear;
};
KeptEntries kept_entries(const sema::Program& program, const codegen::TargetCode& code, const probes::ModuleFiles& files);

}  // namespace spile::session
