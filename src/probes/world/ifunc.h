#pragma once
// Finds the implementations that processes have chosen for a function whose symbol is an STT_GNU_IFUNC, such as memcpy: the code
// at such a symbol runs once, when the program is loaded, and returns the address that calls go to from then on.

#include <vector>

#include "probes/world/traced_world.h"

namespace spile::probes {

struct Implementation {
  FileAddress address;  // in the same module
  pid_t process;        // that has chosen it; 0: spile itself, in place of a program that does not run yet
};

// Returns the implementations that the processes of -x have chosen, each once; without -x, what spile itself has chosen, if it
// has the same file mapped: the choice is made by the processor. Empty: not known. Reads words of memory that the dynamic linker
// has filled in; runs nothing of the module.
std::vector<Implementation> implementations_of(TracedWorld& world, debuginfo::Module& module, const debuginfo::Function& ifunc);

}  // namespace spile::probes
