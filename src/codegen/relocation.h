#pragma once
// What flatten.cpp must know of a machine's code, one implementation for each machine, in a folder of its name. No LLVM.

#include <cstdint>

namespace spile::codegen {

enum class Relocated : uint8_t { kDone, kTooFar, kUnknown };

// Applies a relocation between parts of one image to the bytes at `at`. value: target + addend - place.
Relocated apply_relocation(uint64_t type, int64_t value, uint8_t* at);

// What fills the space between functions: instructions of one byte that trap, or the parts of longer ones.
extern const uint8_t kCodePadding;

}  // namespace spile::codegen
