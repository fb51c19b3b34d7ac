#pragma once
// What handlers in the kernel read and can't find out themselves, as the bytes of symbols of their object (abi/kernel.h).

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "abi/kernel.h"

namespace spile::session {

// Returns abi::KernelConstants, with the clocks as they are now. target: what target() returns; 0: no process.
std::vector<uint8_t> kernel_constants(pid_t target);
// Returns abi::KernelInterrupts, for execution_flow(): all 0 where the kernel does not show where it counts.
std::vector<uint8_t> interrupt_constants();
// Returns these members, `known`.
std::vector<uint8_t> kernel_members(const abi::KernelMembers& members);

}  // namespace spile::session
