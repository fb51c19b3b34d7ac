#pragma once
// Where a program's stack unwinder begins. While return probes are armed, pending return addresses on the stack are ours
// (abi/trampoline.h), and an unwinder would not find its way. So each of its entries is a site of our own, whose handler
// first puts all return addresses of the thread back. Where a C++ exception is caught, those of frames still on the stack
// become pending again; the returns missed otherwise are counted and told.

#include <vector>

#include "engine/engine.h"

namespace spile::session {

// Entries in one module: libgcc_s, libunwind, or a program that has them linked in. Empty where there are none.
// site_id: for all of them; offsets: of the handlers in the image.
std::vector<engine::SiteRequest> unwind_sites(const std::string& module_path, bool main_executable, uint32_t site_id,
                                              uint32_t unwind_offset, uint32_t rewind_offset);

}  // namespace spile::session
