#pragma once
// Which point of a probe on system calls of some names a call belongs to, by the call's number.

#include <cstdint>
#include <vector>

#include "codegen/module/unit.h"

namespace spile::codegen {

// Emits, and returns an i64: 1 + the index of the point to which the call belongs; 0: to none of them. points: indexes into
// probe.points, not empty, whose sites have Site::system_call. number: an i64, any value.
llvm::Value* point_of_call(Unit& unit, llvm::IRBuilder<>& b, const sema::Probe& probe, const std::vector<uint32_t>& points,
                           llvm::Value* number);
llvm::Value* point_of_call(Unit& unit, llvm::IRBuilder<>& b, const sema::Probe& probe, llvm::Value* number);

}  // namespace spile::codegen
