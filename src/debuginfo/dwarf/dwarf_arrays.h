#pragma once
// Reads array types, and Fortran's CHARACTER, which is an array of characters here.

#include "debuginfo/dwarf/dwarf_file.h"
#include "debuginfo/terms/type_node.h"

namespace spile::debuginfo {

// Reads a DW_TAG_array_type or DW_TAG_string_type with that id, its dimension included. element: id of the type that the DIE
// names; node.size is what the DIE says.
void read_array(DwarfFile& file, Dwarf_Die& die, uint64_t id, uint64_t element, TypeNode& node);
// Whether a DIE within an array's is one of its dimensions.
bool is_dimension(int tag);
// Whether an attribute of this form refers to another DIE.
bool is_reference(unsigned form);

}  // namespace spile::debuginfo
