#pragma once
// Finds the conditions with which a handler begins and that need no lock. They are evaluated before the handler takes its locks,
// so that a hit that they turn away, `if (pid() != target()) next`, makes no other handler wait.

#include "sema/terms/program.h"

namespace spile::sema {

struct Guard {
  const syntax::Expression* condition;
  bool wanted;  // the handler goes on where the condition has this value
};

struct GuardedBody {
  bool condition_first = false;                // Probe::condition is evaluated before locks are taken, before `guards`
  std::vector<Guard> guards;                   // in the order in which they are evaluated
  std::vector<const syntax::Statement*> rest;  // of the body, in order
};

// Divides a probe's body. A guard has no side effects and uses no global that has a lock: `if (c) next;` at the body's beginning,
// or an `if` without `else` that is all of the body. REQUIRES: pass 2 is done; the result refers to the probe's trees.
GuardedBody divide_body(const Program& program, const Probe& probe);

}  // namespace spile::sema
