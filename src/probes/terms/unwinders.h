#pragma once
// The functions of a program that unwind or walk its stack, known by their names. A return probe replaces return addresses on the
// stack by ones of spile's; these functions read them there, and would not find their way. So each of them is a site of spile's
// own while return probes are armed, whose handlers put the real return addresses back for as long as the walk takes.
//
// Code that follows frame pointers on its own is not among them: it has no name to be known by, and stops at the first pending
// return.

#include <cstdint>
#include <string>
#include <vector>

#include "base/address.h"
#include "debuginfo/debuginfo.h"

namespace spile::probes {

struct UnwinderFunction {
  enum class Role : uint8_t {
    kWalk,    // unwinds or walks from its entry on; ends by returning, or by landing in a frame that catches or cleans up
    kStep,    // takes one step of a walk, and returns
    kCaught,  // is called where an exception has been caught
  };
  Role role;
  FileAddress address;  // of its first instruction
  uint64_t size;        // in bytes
};

// Returns whether a file may have such functions: the C++ library, by its name, or a file with traces of an unwinder
// (debuginfo/elf/unwinder_traces.h). path: as the process has it mapped. opened: where it is found now.
bool may_have_unwinder(const std::string& path, const std::string& opened);

// Returns why no return can be probed in a process that has this file: it has an unwinder whose functions have no names, by which
// unwinder_functions() would know them. Empty: it has none. opened: where the file is found now.
std::string unnamed_unwinder(const std::string& opened);

// Returns the module's functions that unwind; a function that several names stand for is there once for each role.
std::vector<UnwinderFunction> unwinder_functions(debuginfo::Module& module);

}  // namespace spile::probes
