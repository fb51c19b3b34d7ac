#pragma once
// Which code of a function finds a variable's value somewhere: location lists and blocks, whatever the address at hand is.

#include "debuginfo/dwarf/dwarf_file.h"
#include "debuginfo/terms/code_place.h"

namespace spile::debuginfo {

// Returns the stretches of code where a parameter or local of the name has a value, ascending and apart from each other.
// function: a function's DIE, or an inlined call's. Of a variable with one place for the whole function (or block) it is all of
// that, also where the place is not filled yet.
std::vector<CodeRange> value_ranges(Dwarf_Die& function, const std::string& name);

}  // namespace spile::debuginfo
