#pragma once
// Finds arrays of which a handler uses only its own thread's elements, for classify-globals.

#include <set>

#include "sema/terms/program.h"

namespace spile::sema {

// Returns the arrays in which every element that a handler outside of the controller reads, writes, deletes or asks for has tid()
// as one of its keys, always the same one. The key is a call of tid(), or a local variable that gets its value from such calls
// and from nowhere else, and has got it on every way to the use. Arrays that such a handler clears, iterates over, or uses to
// keep values of a function's entry are not returned. REQUIRES: resolve-symbols has run.
std::set<const syntax::Global*> arrays_keyed_by_thread(const Program& program);

}  // namespace spile::sema
