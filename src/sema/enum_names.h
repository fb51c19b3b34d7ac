#pragma once
// @enumname(value, "type", "module"): from a number to the name of an enumeration's constant.

#include "sema/elaboration.h"

namespace spile::sema {

// Replaces an @enumname by the call of a function that is made for its enumeration; does nothing to other expressions. The
// value and the type may come in either order. point: null in functions. Error: no such enumeration; the slot is unchanged.
// The call's function is known; the symbols of its argument are not resolved yet.
Result<bool> expand_enum_name(Elaboration& elaboration, const ResolvedPoint* point, syntax::ExpressionPtr& slot);

}  // namespace spile::sema
