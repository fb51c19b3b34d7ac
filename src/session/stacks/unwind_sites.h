#pragma once
// Finds the functions of a process that unwind its stack (probes/terms/unwinders.h), for sites of spile's own there. The handler
// of each first writes all return addresses of the thread back to the stack (abi/trampoline.h). When the unwinder ends (it
// returns, or goes on in a frame that catches or cleans up), the return addresses of frames that are still on the stack become
// pending again.

#include <vector>

#include "codegen/codegen.h"
#include "engine/engine.h"

namespace spile::session {

// Returns the sites in one module of a process; none where the module has no unwinder, or can't be read.
// site_id: all sites get this one. code: has the handlers.
std::vector<engine::SiteRequest> unwind_sites(pid_t pid, const engine::Module& mapped, uint32_t site_id,
                                              const codegen::TargetCode& code);

}  // namespace spile::session
