#pragma once
// Takes a value apart into texts and the numbers between them, for handlers that follow no plan: in the kernel, and of values in
// registers that are known in part.

#include <vector>

#include "debuginfo/debuginfo.h"
#include "sema/terms/target_info.h"

namespace spile::probes {

// Returns the parts of the value, one level deep or all of it: at most 32 values; of what is more, "...". A pointer or reference
// is followed at the top.
std::vector<sema::PrettyPart> list_parts(const debuginfo::Place& place, bool deep);

}  // namespace spile::probes
