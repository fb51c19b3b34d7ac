#pragma once
// Sites at the entries of functions whose calls must keep registers (sema::SiteTable::kept_functions()), since handlers further on in
// these functions ask for values of the entry.

#include <span>
#include <vector>

#include "codegen/codegen.h"
#include "engine/engine.h"
#include "probes/probes.h"
#include "sema/program.h"

namespace spile::session {

struct KeptEntries {
  std::vector<engine::SiteRequest> sites;
  // Indexes of functions that are left out: their code can't be read, or jumps back to its first instruction, where a hit then need not
  // be an entry.
  std::vector<size_t> unclear;
};
// files: what the functions were found in.
KeptEntries kept_entries(const sema::Program& program, const codegen::TargetCode& code, const probes::ModuleFiles& files);

}  // namespace spile::session
