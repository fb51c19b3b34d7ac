#pragma once
// The independent checker: disassembles compiled handlers before they are armed (Architecture::check_handlers), knowing
// nothing of the compiler that made them. It refuses
//   - instructions outside its list: no vector or x87 state is touched (trampolines don't save it), no privileged ones,
//     and system calls only by known number, of those that ask who one is;
//   - control transfers that leave the code, enter an instruction in its middle, or whose target is not in the instruction;
//   - stores whose address does not come from the stack pointer, from the arena (or the process table), or from memory of
//     these two; above all those through values that the traced program chose;
//   - loads through such values unless the fix-up table has them: they could fault.
//
// How an address is judged: registers, and words of a function's frame, are followed along all paths, each as one of the
// Kinds in checker.cpp; what a call leaves in the registers is found by following the function called. What has been stored
// into our own memory is believed to be what verified stores put there; so is a value that is ours on one of two paths that
// meet. How far an index leads from its base is not judged (the runtime's bounds are).

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

Result<void> check_handlers(const abi::CodeImage& image, std::span<const HandlerEntry> entries);

}  // namespace spile::engine::x86_64
