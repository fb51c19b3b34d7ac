#pragma once
// What ControllerCode::global_next leaves in its cursor at the end, beside a position. Elements of a global that handlers
// elsewhere can change are copied, under its lock if it has one, to the exchange (ArenaLayout), so each is whole, and in memory
// that no process can write to; the next call may find what was added since. The length of a key may be too large where a process
// has overwritten it.

#include <cstdint>

namespace spile::codegen {

// The lock could not be had: elements may be missing.
inline constexpr uint32_t kNoLock = ~uint32_t{0};

}  // namespace spile::codegen
