#pragma once
// Where in a piece of text `syscall` instructions are: what reading a function from its begin comes by. Text without a known
// function may be data, and is never said to be an instruction. (glibc ends the unwind information of clone right before
// its call, so the first instructions behind a function are looked at too, where it goes on to them.)

#include <span>
#include <vector>

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

std::vector<FoundSystemCall> find_system_calls(std::span<const uint8_t> text, Address at,
                                               const FunctionBefore& function_before);

}  // namespace spile::engine::x86_64
