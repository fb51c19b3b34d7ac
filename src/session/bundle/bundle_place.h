#pragma once

#include <cstdint>

#include "base/result.h"
#include "probes/terms/probes.h"
#include "session/bundle/bundle.h"
#include "session/terms/options.h"

namespace spile::session {

// Returns where the kernel's code begins, which differs from boot to boot; 0: the kernel does not show its addresses.
uint64_t kernel_text_address();

// Finds the bundle's modules among the files of the target (a file of the same identity serves under another path, too, which is
// then put in the place of the old one), and checks the kernel. Errors: another build of a file, with both identities, or another
// kernel.
Result<probes::ModuleFiles> place_bundle(Bundle& bundle, const TargetOptions& target);

}  // namespace spile::session
