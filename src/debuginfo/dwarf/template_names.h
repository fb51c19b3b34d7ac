#pragma once
// Names of class templates. Most compilers write the arguments into the name, "vector<int, std::allocator<int> >"; with
// -gsimple-template-names, clang writes "vector", and the arguments are only children of the DIE.

#include <string>
#include <string_view>
#include <vector>

#include "debuginfo/dwarf/dwarf_file.h"

namespace spile::debuginfo {

// Returns the arguments of a class whose name lacks them, "<int, allocator<int>>", types without their scopes; "": it is not made
// from a template.
std::string template_arguments(DwarfFile& file, Dwarf_Die& die);

// Whether a class is the one that a script calls `wanted`, a name without scopes: spaces do not matter, and arguments that are
// left out at the end may be any: "vector<int>".
bool is_named(DwarfFile& file, Dwarf_Die& die, const std::string& wanted);

// Whether a namespace is one of those that standard libraries have to tell their versions apart. Before DWARF 5, nothing but its
// name says so.
bool is_inline_namespace(std::string_view name);

// Cuts a name at the "::" that are not within arguments: "std", "vector<ns::thing>".
std::vector<std::string> scopes_of_type(std::string_view name);

}  // namespace spile::debuginfo
