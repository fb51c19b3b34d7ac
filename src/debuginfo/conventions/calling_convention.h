#pragma once
// How x86-64 functions pass parameters and return values: System V psABI, section 3.2.3. Needed where debug information
// describes where a parameter will be (the stack slot of unoptimized code), and not where it is at the function's entry.

#include <span>
#include <vector>

#include "debuginfo/terms/place.h"

namespace spile::debuginfo {

struct PassedParameter {
  Type type;
  bool by_hidden_reference = false;  // a C++ class with a non-trivial copy constructor or destructor
};

// How a structure is passed whose last member is an array without a size, on which the psABI is silent: in memory, or (gcc
// in C, since 4.4) as if it had no such member.
enum class FlexibleArrays : uint8_t { kInMemory, kIgnored };

// Returns where each parameter is before the function's first instruction, in general or vector registers or on the stack.
// returned: the function's result, as it may take the first register. Unavailable: empty, of an unknown type, or behind such a
// parameter.
std::vector<Place> parameter_places(const Type& returned, std::span<const PassedParameter> parameters,
                                    FlexibleArrays flexible = FlexibleArrays::kInMemory);

// Returns where the returned value is just after the function returned. Unavailable: in x87 registers, empty, or of an unknown
// type.
Place return_place(const Type& returned, FlexibleArrays flexible = FlexibleArrays::kInMemory);

}  // namespace spile::debuginfo
