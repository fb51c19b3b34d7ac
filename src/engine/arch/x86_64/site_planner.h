#pragma once
// Chooses how a function's entry is patched (Architecture::plan_entry).

#include <span>

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

inline constexpr uint8_t kNearJump = 5;   // e9 rel32
inline constexpr uint8_t kShortJump = 2;  // eb rel8

SitePlan plan_entry(std::span<const uint8_t> text, Address entry, uint64_t size);

}  // namespace spile::engine::x86_64
