#pragma once
// What flatten.cpp must know of a machine's code, one implementation for each machine, in a folder of its name. No LLVM.

#include <cstdint>

namespace spile::codegen {

// kTooFar: `value` does not fit into the field; kUnknown: the type is not one of those that image code has. Neither writes.
enum class Relocated : uint8_t { kDone, kTooFar, kUnknown };

// Applies a relocation between parts of one image to the bytes at `at`, 8 of which may be written. type: ELF64_R_TYPE; value:
// target + addend - place.
Relocated apply_relocation(uint64_t type, int64_t value, uint8_t* at);

// The byte that fills the space between code sections: it, or a run of it, is an instruction that traps.
extern const uint8_t kCodePadding;

}  // namespace spile::codegen
