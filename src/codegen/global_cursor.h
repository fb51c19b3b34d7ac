#pragma once
// What ControllerCode::global_next leaves in its cursor at the end, beside a position. Elements of a global that handlers elsewhere change meanwhile are copied under its lock to
// the exchange (ArenaLayout), so each is whole; the next call may find what was added since.

#include <cstdint>

namespace spile::codegen {

// The lock could not be had: elements may be missing.
inline constexpr uint32_t kNoLock = ~uint32_t{0};

}  // namespace spile::codegen
