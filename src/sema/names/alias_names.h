#pragma once
// Which aliases a probe point means.

#include "syntax/tree.h"

namespace spile::sema {

// Returns whether the point begins with the alias's name: `syscall.*.return` with syscall.read. `**` as the last component
// matches the rest of a name, of any length. Wildcards do not match names that begin with two underscores.
bool begins_with_alias(const syntax::ProbePoint& point, const syntax::ProbePoint& name);

}  // namespace spile::sema
