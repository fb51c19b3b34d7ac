#pragma once
// DWARF location expressions (DWARF 5, sections 2.5 and 2.6) compiled to Operations.

#include "debuginfo/dwarf_file.h"
#include "debuginfo/location.h"

namespace spile::debuginfo {

// The frame in which an expression is evaluated.
struct FrameContext {
  DwarfFile& file;
  Dwarf_Die* function;  // null for variables outside functions
  FileAddress pc;
  bool at_entry;        // pc is the function's first instruction: nothing is pushed, no register has been changed
};

// The place that an attribute (DW_AT_location) gives at context.pc. Place::type is left to the caller.
Place compile_location(Dwarf_Attribute& attribute, const FrameContext& context);
// At a function's entry: a place in the frame that the function has yet to make, which holds nothing now.
bool is_in_future_frame(const Place& place);
// Such a place that holds the address of the object rather than itself (class parameters passed by hidden reference).
bool is_reference_in_future_frame(const Place& place);

Place unavailable(std::string reason);

}  // namespace spile::debuginfo
