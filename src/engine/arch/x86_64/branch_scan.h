#pragma once
// Does a function branch into its own first bytes? A jump laid over a branch target would be entered in its middle.

#include <cstdint>
#include <span>

namespace spile::engine::x86_64 {

// True if a direct branch in `code` (one function, from its first instruction) leads to an offset in [first, last].
// Offsets are from the start of `code`. A branch to the first instruction itself is no obstacle: it meets the jump.
bool branches_into(std::span<const uint8_t> code, uint32_t first, uint32_t last);

}  // namespace spile::engine::x86_64
