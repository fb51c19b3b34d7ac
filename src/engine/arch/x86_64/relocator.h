#pragma once
// Carries instructions out at another address. What depends on the program counter is rewritten so that every effect,
// including return addresses on the stack, is that of the original place.

#include <span>

#include "base/address.h"
#include "base/result.h"
#include "engine/arch/x86_64/assembler.h"
#include "engine/arch/x86_64/decoder.h"

namespace spile::engine::x86_64 {

// Appends the equivalent of `instruction` (`bytes`: all of its bytes; it stood at `from`). Keeps flags and registers as the
// original does. A call becomes a push of the original return address and a jump: unwinders and a later removal of the probe see
// nothing unusual, at the price of one mispredicted return. Fails for breakpoints, for instructions that can't be moved, and if
// an operand or target is out of reach; what was appended to `out` is useless then.
Result<void> relocate(const Instruction& instruction, std::span<const uint8_t> bytes, Address from, Assembler& out);

}  // namespace spile::engine::x86_64
