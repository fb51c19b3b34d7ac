#pragma once
// Where in a piece of text `syscall` instructions are. Nothing is known of functions; x86 code is read in step with itself
// soon after wherever one begins, so what stands at a place is what reading it from several places before agrees on.

#include <span>
#include <vector>

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

std::vector<FoundSystemCall> find_system_calls(std::span<const uint8_t> text, Address at);

}  // namespace spile::engine::x86_64
