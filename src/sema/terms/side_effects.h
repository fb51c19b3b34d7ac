#pragma once
// Finds code that can be removed without effect: functions that change nothing, and statements behind one that leaves.
// REQUIRES: resolve-symbols has run, so calls know their functions.

#include <unordered_map>

#include "syntax/tree.h"

namespace spile::sema {

// Whether no run gets past the statement: it is a return, next, break or continue, or all its paths have one. False: not known.
bool always_leaves(const syntax::Statement& statement);

// Remembers its answers about functions. REQUIRES: their trees do not change while it lives.
class SideEffects {
 public:
  // Whether evaluating the expression, or calling the function, may be left out where the value is not used: as is_pure() of
  // fold.h, and calls of functions that only compute, without recursion and, outside of the library, loops, which can exceed a
  // limit.
  bool none_in(const syntax::Expression& expression);
  bool none_in(const syntax::Function& function);

 private:
  bool none_in(const syntax::Statement& statement);
  bool none_in_call(const syntax::Call& call);

  std::unordered_map<const syntax::Function*, bool> known_;
  bool in_library_ = false;  // the function that is being looked at
};

}  // namespace spile::sema
