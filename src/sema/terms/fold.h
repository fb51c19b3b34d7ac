#pragma once
// Folds constants of trees; names and types need not be known yet. Nothing that can fail at run time is folded away:
// division by a literal zero stays, to be reported when, and if, it runs.

#include <functional>

#include "syntax/tree.h"

namespace spile::sema {

// Folds the whole subtree, in place. A slot never becomes null: a statement without effect becomes a Null, and a Block stays a
// Block.
void fold(syntax::ExpressionPtr& slot);
void fold(syntax::StatementPtr& slot);

// Whether evaluating the expression may be left out where its value is not used: it has no side effects, and nothing in it can
// fail but reads of traced memory. (Evaluated twice, it may have two values: the time.) Library functions go by Intrinsic::pure;
// other calls by `call_is_pure`, and are impure if that is empty.
bool is_pure(const syntax::Expression& expression, const std::function<bool(const syntax::Call&)>& call_is_pure = {});

}  // namespace spile::sema
