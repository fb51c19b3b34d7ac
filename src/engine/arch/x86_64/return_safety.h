#pragma once
// Functions that call-in-place must leave alone: those that look at, keep or take off their own return address. They
// would see the trampoline's. setjmp, getcontext and vfork return to it a second time; dlopen and dlsym find their
// caller by it; a program's _start has none.

#include <string>

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

// Why the function can't have a return probe; empty if it can. Follows the function's paths, and tail jumps into others.
// text ends where the function ends; read: for the tables of switches; readers: in run-time addresses.
std::string return_obstacle(Address entry, const TextSource& text, const MemoryReader& read, const ReturnReaders& readers);

}  // namespace spile::engine::x86_64
