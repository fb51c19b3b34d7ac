#pragma once
// Where a program's stack unwinder begins. While return probes are armed, pending return addresses on the stack are ours
// (abi/trampoline.h), and an unwinder would not find its way. So each of its entries is a site of our own, whose handler
// first puts all return addresses of the thread back. Where it ends (it returns, or lands in a frame that catches or cleans
// up), those of frames still on the stack become pending again.

#include <vector>

#include "codegen/codegen.h"
#include "engine/engine.h"

namespace spile::session {

// What walks a stack by frame pointers on its own is not seen, and stops at the first pending return.
//
// Entries in one module: libgcc_s, libunwind, or a program that has them linked in. Empty where there are none.
// site_id: for all of them.
std::vector<engine::SiteRequest> unwind_sites(pid_t pid, const engine::Module& mapped, uint32_t site_id, const codegen::TargetCode& code);

}  // namespace spile::session
