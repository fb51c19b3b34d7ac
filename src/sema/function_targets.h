#pragma once
// Binds the operations on traced programs that need no probe point, in functions: @cast, @var and @const with their module, and
// @defined of these.

#include "sema/elaboration.h"

namespace spile::sema {

// Answers the function's @defined, drops the branches not taken, and binds the rest. AtOperation::binding indexes the returned
// bindings. Reports operations that can't be bound.
std::vector<Binding> bind_function(Elaboration& e, syntax::Function& function);

}  // namespace spile::sema
