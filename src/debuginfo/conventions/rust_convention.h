#pragma once
// How functions of Rust's own ABI are called by code of rustc for x86-64 (compiler/rustc_ty_utils/src/abi.rs,
// rustc_abi/src/layout.rs). Objects that are one number, or two, travel as these numbers, each in a register of its own; other
// objects of up to 8 bytes as one number; larger ones lie in memory, and their address is passed. Which objects are two numbers
// follows from their layout, which the debug information describes.

#include <span>
#include <vector>

#include "base/address.h"
#include "debuginfo/terms/place.h"

namespace spile::debuginfo {

struct RustParameter {
  // What is known of the stack slot in which unoptimized code keeps the parameter: the object, or its address.
  enum class Slot : uint8_t { kNotKnown, kObject, kAddress };
  Type type;
  Slot slot = Slot::kNotKnown;
};

// version: of rustc 1.63 it is 63.
// Returns where each parameter is before the function's first instruction. Unavailable: empty, of a type whose layout is not
// known, or behind such a parameter.
std::vector<Place> rust_parameter_places(const Type& returned, std::span<const RustParameter> parameters, uint32_t version);

// Returns where the returned value of the function is just after it returned. A result in memory is where the caller wanted it,
// by the function's first argument: since LLVM 20 not all functions return that address.
Place rust_return_place(const Type& returned, FileAddress function, uint32_t version);

}  // namespace spile::debuginfo
