#pragma once
// Where control leaves a function for good (Architecture::find_exits).

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

std::vector<FunctionExit> find_exits(std::span<const uint8_t> function);

}  // namespace spile::engine::x86_64
