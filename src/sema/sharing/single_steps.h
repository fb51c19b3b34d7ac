#pragma once
// Finds numbers that every handler touches in one step, for classify-globals.

#include <set>

#include "sema/terms/program.h"

namespace spile::sema {

// Returns the global numbers that every handler reads, sets, or adds to at one place alone that is in no loop: `if (++n == 5)
// exit()`. Such a handler needs no lock to be atomic, as far as it uses no other global that handlers change. Numbers that script
// functions, embedded C or values of a function's entry use are not returned. Handlers may use them in any way while no other
// handler runs: in begin probes, and, without a change, in end and error probes. REQUIRES: resolve-symbols has run.
std::set<const syntax::Global*> numbers_of_one_step(const Program& program);

// Whether handlers of the probe run while no handler changes a number, if they do not (written: they do).
bool runs_apart(const Probe& probe, bool written);

}  // namespace spile::sema
