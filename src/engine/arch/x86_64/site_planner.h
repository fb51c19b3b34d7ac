#pragma once
// Chooses how a function's entry, or any instruction, is patched. Each function implements the virtual function of Architecture
// or VariableLengthPatching that has its name; engine/arch/architecture.h documents them.

#include <span>

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

// Lengths of jumps, in bytes.
inline constexpr uint8_t kNearJump = 5;   // e9 rel32
inline constexpr uint8_t kShortJump = 2;  // eb rel8

SitePlan plan_entry(std::span<const uint8_t> text, Address entry, uint64_t size);
SitePlan plan_instruction(std::span<const uint8_t> text, Address at, uint64_t left, const FunctionFlow* flow);
bool relay_nearby(SitePlan& plan, Address relay);
void relay_by_next_byte(SitePlan& plan, uint8_t second);
SitePlan plan_displacement(std::span<const uint8_t> text, Address at, uint64_t left, uint8_t room);
std::span<const uint8_t> leads();
std::span<const uint8_t> invalid_bytes();
SitePlan plan_single(std::span<const uint8_t> text, Address at, uint64_t most);
uint64_t entry_mark(std::span<const uint8_t> function);

}  // namespace spile::engine::x86_64
