#pragma once
// Binds the operations on traced programs that need no probe point, in functions: @cast, @var and @const with their module, and
// @defined of these.

#include "sema/elaboration.h"

namespace spile::sema {

// Answers the function's @defined and @choose_defined, drops the branches not taken, expands $ and $$ at the end of paths and @enumname,
// and binds the rest. AtOperation::binding indexes the returned bindings. Reports operations that can't be bound as diagnostics.
std::vector<Binding> bind_function(Elaboration& e, syntax::Function& function);

}  // namespace spile::sema
