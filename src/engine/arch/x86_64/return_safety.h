#pragma once
// Finds functions that call-in-place must leave alone, since they read, keep or pop their own return address, and would find the
// trampoline's: setjmp, getcontext and vfork, which return to it a second time; a program's _start, which pops other things
// there; functions that call mcount; and functions that end with a jump to dlopen or dlsym, which find their caller by it.

#include <string>

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

// Returns why the function at `entry` can't have a return probe; empty: no reason was found. Follows the function's paths, and
// jumps into up to 4 other functions, one behind the other: 3,000 instructions at most, and no path beyond an instruction that it
// can't decode. Does not follow pointers to the place of the return address.
//
// text: gives no byte behind the end of the function at `entry`: after a call that does not return another function begins there.
// read: reads the tables of switches. readers: in run-time addresses. Any thread.
std::string return_obstacle(Address entry, const TextSource& text, const MemoryReader& read, const ReturnReaders& readers);

}  // namespace spile::engine::x86_64
