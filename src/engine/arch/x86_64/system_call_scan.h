#pragma once
// Finds `syscall` instructions in text: those that disassembly of a function from its begin meets. Bytes outside of known functions may be
// data, and are not certain. (glibc ends the unwind information of clone right before
// its call, so the first instructions behind a function are looked at too, where it goes on to them.)

#include <span>
#include <vector>

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

std::vector<FoundSystemCall> find_system_calls(std::span<const uint8_t> text, Address at,
                                               const FunctionBefore& function_before);

}  // namespace spile::engine::x86_64
