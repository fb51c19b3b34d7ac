#pragma once
// @enumname(value, "type", "module"): the name of the enumeration's constant with that value. Of several names the first one
// declared; a value without a name is printed in decimal. The module may be left out at points that have variables.

#include "sema/terms/elaboration.h"

namespace spile::sema {

// Replaces an @enumname in `slot` by the call of a function that is made for its enumeration, and added to the program's first
// script. Returns whether it did: other expressions are left alone. The value and the type may come in either order; without a
// type, the value is a variable that has one. point: null outside of a point's handler, as in functions. at_entry: as for
// TargetInfo::bind(). Errors: the type or module is not a literal, the variable's type is not an enumeration, or no such one is
// known; the @enumname stays in the slot. Call::function is set; the caller still has to bind what the call's argument contains.
Result<bool> expand_enum_name(Elaboration& elaboration, const ResolvedPoint* point, bool at_entry, syntax::ExpressionPtr& slot);

}  // namespace spile::sema
