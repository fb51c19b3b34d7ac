#pragma once
// Finds code that can be removed without effect: functions that change nothing, and statements behind one that leaves.
// For after resolve-symbols: calls know their functions.

#include <unordered_map>

#include "syntax/tree.h"

namespace spile::sema {

// Whether no run gets past the statement: it is a return, next, break or continue, or all its paths end with one.
bool always_leaves(const syntax::Statement& statement);

class SideEffects {
 public:
  // Whether evaluating it may be left out where its value is not used. As is_pure (fold.h), but knows functions too:
  // those without loops and recursion, both of which can exceed a limit, that only compute.
  bool none_in(const syntax::Expression& expression);
  bool none_in(const syntax::Function& function);

 private:
  bool none_in(const syntax::Statement& statement);
  bool none_in_call(const syntax::Call& call);

  std::unordered_map<const syntax::Function*, bool> known_;
};

}  // namespace spile::sema
