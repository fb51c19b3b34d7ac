#pragma once
// Numbers of arrays that only a function's frame knows: the n of a(n), the length of a dummy argument that is a CHARACTER(*).

#include <vector>

#include "debuginfo/dwarf/dwarf_expression.h"

namespace spile::debuginfo {

// Returns those of the arrays that the type is, or points to. FrameNumber::variable: the id of the variable's DIE.
std::vector<FrameNumber> frame_numbers(uint64_t type, const FrameContext& context);

}  // namespace spile::debuginfo
