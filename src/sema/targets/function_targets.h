#pragma once
// Binds the operations on traced programs that need no probe point, in functions: @cast, @var and @const with their module, and
// @defined of these.

#include "sema/terms/elaboration.h"

namespace spile::sema {

// Answers the function's @defined and @choose_defined, drops the branches not taken, expands $ and $$ at the end of paths and
// @enumname, and binds the rest. AtOperation::binding indexes the returned bindings. Reports operations that can't be bound as
// diagnostics.
std::vector<Binding> bind_function(Elaboration& e, syntax::Function& function);

// Replaces an expression of C that is the name of a constant, %{ AF_INET %}, by its number, unless the script's own C mentions
// the name: handlers in the kernel can't run C, and others need no compiler for it. Returns whether it did.
bool fold_constant_of_c(Elaboration& e, syntax::ExpressionPtr& slot);

}  // namespace spile::sema
