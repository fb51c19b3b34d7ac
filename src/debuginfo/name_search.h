#pragma once
// Finds the units that describe a function or variable of a given name without reading them: GCC's C units have each name that they use as an
// offset into .debug_str, or, if it is short, in place, so a unit whose bytes have neither does not have the name. For the kernel (200 MB of
// .debug_info in 3,000 units) this takes 0.1 s; reading all units takes two.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "debuginfo/dwarf_file.h"

namespace spile::debuginfo {

// Returns offsets in .debug_info, ascending, where the name may be: all places where it is, and places where other data has the same bytes.
std::vector<uint64_t> places_of_name(std::string_view info, std::string_view strings, const std::string& name);

// Returns the file's units except those that surely have no function of that name, neither of their own nor inlined, and no such variable. name:
// as C has it, without scopes.
std::vector<DwarfFile::Unit> units_naming(DwarfFile& file, const std::string& name);

}  // namespace spile::debuginfo
