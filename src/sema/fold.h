#pragma once
// Constant folding of trees, before names or types are known. Nothing that can fail at run time is folded away:
// division by a literal zero stays, to be reported when, and if, it runs.

#include <functional>

#include "syntax/tree.h"

namespace spile::sema {

// The whole subtree. A slot never becomes null: a statement without effect becomes a Null.
void fold(syntax::ExpressionPtr& slot);
void fold(syntax::StatementPtr& slot);

// Whether evaluating it twice, or not at all, makes no difference: no side effects, and nothing that can fail but reads
// of traced memory.
// Calls of functions are taken for impure where `call_is_pure` is empty or says so.
bool is_pure(const syntax::Expression& expression, const std::function<bool(const syntax::Call&)>& call_is_pure = {});

}  // namespace spile::sema
