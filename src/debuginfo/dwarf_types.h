#pragma once
// Type DIEs as TypeNodes.

#include "debuginfo/dwarf_file.h"
#include "debuginfo/type_node.h"

namespace spile::debuginfo {

// The id of what DW_AT_type of the DIE says; kVoidType where it says nothing.
uint64_t type_id_of(DwarfFile& file, Dwarf_Die& die);
TypeNode read_type(DwarfFile& file, uint64_t id);
// Where the type is only declared ("struct s;"): its definition in any unit of the module, else kUnknownType.
uint64_t find_definition(DwarfFile& file, uint64_t id);
// See Module::type_named(). kUnknownType where no unit has it.
uint64_t find_named_type(DwarfFile& file, const std::string& name);

}  // namespace spile::debuginfo
