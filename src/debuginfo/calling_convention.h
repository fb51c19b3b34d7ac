#pragma once
// How x86-64 functions pass parameters and return values: System V psABI, section 3.2.3. Needed where debug information
// tells where a parameter will be (the stack slot of unoptimised code), and not where it is at the function's entry.

#include <span>
#include <vector>

#include "debuginfo/location.h"

namespace spile::debuginfo {

struct PassedParameter {
  Type type;
  bool by_hidden_reference = false;  // a C++ class with a non-trivial copy constructor or destructor
};

// Where each parameter is before the function's first instruction. Unavailable: in a floating-point register, or
// behind a parameter whose type isn't known.
std::vector<Place> parameter_places(const Type& returned, std::span<const PassedParameter> parameters);

// Where the returned value is just after the function returned. Unavailable in floating-point registers.
Place return_place(const Type& returned);

}  // namespace spile::debuginfo
