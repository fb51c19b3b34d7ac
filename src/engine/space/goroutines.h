#pragma once
// What is known of a Go program's goroutines.
//
// Some of them wait to go on where they were interrupted. Since Go 1.14 the runtime interrupts a goroutine at
// (nearly) any instruction by a signal, and makes it call runtime.asyncPreempt from there: the place is then a return address on
// its stack, and no thread's program counter. It must not lie in the midst of a patch.

#include <set>
#include <span>

#include "engine/space/address_space.h"

namespace spile::engine {

// Finds the begins of sites in the midst of whose patches such a goroutine stands. sites: by begin. REQUIRES: the process is kept
// still.
std::set<Address> find_interrupted(const AddressSpace& space, std::span<const PatchedSite> sites);

// Finds where a thread of a Go program keeps its goroutine, in bytes from its thread pointer, as the runtime's own instructions
// show. 0: unknown, or not a Go program.
int32_t find_goroutine_offset(const AddressSpace& space, const Module& module);

}  // namespace spile::engine
