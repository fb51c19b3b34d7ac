#pragma once
// Reads type DIEs as TypeNodes; ids are DwarfFile::id_of().

#include "debuginfo/dwarf/dwarf_file.h"
#include "debuginfo/terms/type_node.h"

namespace spile::debuginfo {

// Returns the id of the type that DW_AT_type of the DIE names; kVoidType: the DIE has no such attribute.
uint64_t type_id_of(DwarfFile& file, Dwarf_Die& die);
// Returns the node of a type; for an id that is not a type's, one of kUnknown.
TypeNode read_type(DwarfFile& file, uint64_t id);
// Finds the definition of a type that is only declared ("struct s;") in any unit of the module; kUnknownType: none.
uint64_t find_definition(DwarfFile& file, uint64_t id);
// Finds a type by its name; see Module::type_named(). kUnknownType: no unit has it.
uint64_t find_named_type(DwarfFile& file, const std::string& name);

}  // namespace spile::debuginfo
