#pragma once
// How functions made by Go's compiler (1.17 and later) return values: "Go internal ABI specification"
// (cmd/compile/abi-internal.md in Go's sources). The parts of each result, in order, take one of Convention::go_results
// or of the vector registers each; a result for which they don't suffice, or that has an array of several elements in it, lies on
// the stack as a whole.

#include <span>
#include <vector>

#include "debuginfo/terms/place.h"

namespace spile::debuginfo {

// Returns where each result is when the function returns, in order. Unavailable: wholly in floating-point registers, on the
// stack, or empty.
std::vector<Place> go_result_places(std::span<const Type> results);

}  // namespace spile::debuginfo
