#pragma once
// Finds arrays whose elements are named by the running thread's name alone, for layouts of fixed size: such a key takes 16 bytes.

#include <set>

#include "sema/terms/program.h"

namespace spile::sema {

// execname()
bool calls_execname(const syntax::Expression& x);

// Returns the arrays with one key, which is execname() itself wherever a handler outside of the controller or a function reads,
// writes, deletes or asks for an element. The controller does not add elements to them. REQUIRES: resolve-symbols has run.
std::set<const syntax::Global*> arrays_keyed_by_name(const Program& program);

}  // namespace spile::sema
