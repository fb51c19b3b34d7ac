#pragma once
// $value of procfs probes: a global of strings that spile fills before a write probe and reads after a read probe. In the
// tree it is an ordinary variable from pass 1 on, so that no later pass knows of it.

#include <vector>

#include "syntax/tree.h"

namespace spile::session {

inline constexpr const char* kProcfsValue = "__spile_procfs_value";

// Replaces $value in probes (and aliases) that are procfs probes, and declares the global where there are any.
void declare_procfs_value(std::vector<syntax::Script>& scripts);

}  // namespace spile::session
