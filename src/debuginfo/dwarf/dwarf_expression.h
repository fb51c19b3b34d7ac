#pragma once
// DWARF location expressions (DWARF 5, sections 2.5 and 2.6) compiled to the operations of base/location.h.

#include "debuginfo/dwarf/dwarf_file.h"
#include "debuginfo/terms/place.h"

namespace spile::debuginfo {

// The frame in which an expression is evaluated.
struct FrameContext {
  DwarfFile& file;
  Dwarf_Die* function;  // null for variables outside functions
  FileAddress function_entry;
  FileAddress pc;
  bool at_entry;  // pc is the function's first instruction: nothing is pushed, no register has been changed
};

struct LocatedValue {
  Place place;  // Place::type is left to the caller
  // At a function's entry: the place is in the frame that the function has yet to make, and holds nothing now. Either
  // it is below the CFA, or a location for the whole function (as unoptimized code has) needs a register that passes no
  // parameter.
  bool in_future_frame = false;
  bool by_reference = false;  // and will hold the address of the object rather than itself
};

// Compiles an attribute (DW_AT_location) for context.pc. A location that can't be expressed is a Place of kUnavailable with the
// reason.
LocatedValue compile_location(Dwarf_Attribute& attribute, const FrameContext& context);

// Compiles an expression over an object, whose address a location::ScriptPointer stands for: what an array's type says of its
// elements. nullopt: it needs a function's frame, or can't be expressed.
std::optional<location::Operations> compile_for_object(Dwarf_Attribute& attribute, DwarfFile& file);

// Whether unoptimized code has the object's address in a register or a stack slot as soon as the function has made its frame, a
// few instructions behind its entry. rustc describes objects in memory from there on.
bool is_passed_by_address(Dwarf_Attribute& attribute, const FrameContext& context);

// Returns a Place of kUnavailable. reason: see Place::reason.
Place unavailable(std::string reason);

}  // namespace spile::debuginfo
