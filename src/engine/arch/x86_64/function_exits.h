#pragma once
// Where control leaves a function for good, and what Go's compiler puts at its begin. Each function implements the virtual
// function of Architecture that has its name; engine/arch/architecture.h documents them.

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

std::vector<FunctionExit> find_exits(std::span<const uint8_t> function);
FunctionReturns find_returns(std::span<const uint8_t> function, const FunctionFlow& flow);
uint64_t behind_stack_check(std::span<const uint8_t> function);
int32_t find_goroutine_offset(std::span<const uint8_t> text);

}  // namespace spile::engine::x86_64
