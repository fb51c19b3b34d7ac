#pragma once
// Functions that call-in-place must leave alone: those that look at, keep or take off their own return address. They
// would see the trampoline's. setjmp, getcontext and vfork return to it a second time; dlopen and dlsym find their
// caller by it; a program's _start has none.

#include <string>

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

// Why the function can't have a return probe; empty if it can. Follows the code from the entry in a straight line,
// over conditional branches, and into tail jumps.
std::string return_obstacle(Address entry, const TextSource& text);

}  // namespace spile::engine::x86_64
