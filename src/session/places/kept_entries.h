#pragma once
// Sites at the entries of functions whose calls must keep registers (sema::SiteTable::kept_functions()), since handlers further
// on in these functions ask for values of the entry.

#include <span>
#include <vector>

#include "codegen/codegen.h"
#include "engine/engine.h"
#include "probes/terms/probes.h"
#include "sema/terms/program.h"

namespace spile::session {

struct KeptEntries {
  std::vector<engine::SiteRequest> sites;
  // Indexes into kept_functions() of functions without a site: their code can't be read, or jumps back to its first instruction,
  // so that a hit there need not be an entry.
  std::vector<size_t> unclear;
};
// Reads the code of the functions, and returns their sites. code: has the handler that keeps registers. files: in which the
// functions were found.
KeptEntries kept_entries(const sema::Program& program, const codegen::TargetCode& code, const probes::ModuleFiles& files);

}  // namespace spile::session
