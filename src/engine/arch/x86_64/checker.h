#pragma once
// The independent checker: disassembles compiled handlers before they are armed (Architecture::check_handlers), knowing
// nothing of the compiler that made them. It refuses
//   - instructions outside its list (checker_list.h): no vector or x87 state is touched (trampolines don't save it),
//   none
//     that is privileged or changes how the processor works, and system calls only by known number, writing only to us;
//   - control transfers that leave the code, enter an instruction in its middle, or whose target is not in the
//   instruction;
//     returns that don't find their address; loops without a way out; more stack than a thread can be asked for;
//   - stores whose address does not, on all paths, come from the stack pointer, from the arena (or the process table),
//   or
//     from memory of these two; stores over a return address or below the stack;
//   - loads through values that the traced program chose, unless the fix-up table has them: they could fault.
//
// How an address is checked: registers, and words of a function's frame, are followed along all paths, each as one of
// the Kinds in checker_state.h; what a call leaves in the registers is found by following the function called. Believed
// are: what has been stored into our own memory (verified stores put it there), in loads a value that is ours on one of
// two paths that meet, and how far an index leads from its base (the runtime's bounds are tested). That loops with a
// way out take it is the action budget's matter. With -g, stores that have a fix-up may go to the program, and images
// that contain a guru's C code are not checked at all (CodeImage::unchecked).

#include "abi/code_image.h"
#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

Result<uint64_t> check_handlers(const abi::CodeImage& image, std::span<const HandlerEntry> entries);

}  // namespace spile::engine::x86_64
