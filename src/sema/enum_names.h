#pragma once
// @enumname(value, "type", "module"): the name of the enumeration's constant with that value. Of several names the first one declared; a value
// without a name is printed in decimal. The module may be left out at points that have variables.

#include "sema/elaboration.h"

namespace spile::sema {

// Replaces an @enumname in `slot` by the call of a function that is made for its enumeration, and added to the program's first script. Returns
// whether it did: other expressions are left alone. The value and the type may come in either order. point: null outside of a point's handler, as in
// functions. Errors: the type or module is not a literal, or no such enumeration is known; the @enumname stays in the slot. Call::function is
// set; the caller still has to bind what the call's argument contains.
Result<bool> expand_enum_name(Elaboration& elaboration, const ResolvedPoint* point, syntax::ExpressionPtr& slot);

}  // namespace spile::sema
