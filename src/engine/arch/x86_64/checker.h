#pragma once
// The independent checker: disassembles compiled handlers before they are armed (Architecture::check_handlers), knowing
// nothing of the compiler that made them. It rejects
//   - instructions outside its list (checker_list.h): instructions that change vector or x87 state (trampolines don't save it),
//     that are privileged, or that change how the processor works; system calls, for which a seccomp filter might end the
// process;
//   - jumps and calls that leave the code, lead into the middle of an instruction, or are indirect; returns with a misplaced
//     stack pointer; loops without an exit; handlers that take more than 32 KiB of stack;
//   - handlers that return with another value in a register than they were entered with (but their result), as trampolines save
//     none;
//   - stores whose address does not, on all paths, come from the stack pointer, the arena, the process table or the list of code
//     regions, or from memory of these; stores over a return address, or more than 128 bytes below the stack pointer; stores
//     beside the block of saved registers;
//   - loads through values that the traced program chose, unless the fix-up table has them: they could fault.
//
// How an address is checked: registers, and words of a function's frame, are followed along all paths, each as one of
// the Kinds in checker_state.h; what a call leaves in the registers is found by following the function called. The checker
// believes what has been stored into our own memory (verified stores put it there), for loads a value that is ours on one of two
// paths that meet, and that an index stays within its object (the runtime's bounds are tested). It does not prove that a loop
// takes its exit: the action budget ends loops. With -g (CodeImage::guru), stores that have a fix-up may go to the program.
// Images with C code of a guru are not for this check: the caller looks at CodeImage::unchecked, and arms them without it.

#include "abi/code_image.h"
#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

// Returns how many bytes of stack the deepest of the handlers takes, calls included, or an error with the place and bytes of the
// first fault. REQUIRES: code_begin <= code_end <= bytes.size(), fixups sorted. Any thread.
Result<uint64_t> check_handlers(const abi::CodeImage& image, std::span<const HandlerEntry> entries);

// As Architecture::leave_handler, which documents it. at: where the image lies; registers: by Gpr. On false they may have
// changed.
bool leave_handler(const abi::CodeImage& image, std::span<const HandlerEntry> entries, uint64_t at, uint64_t& pc,
                   std::array<uint64_t, 16>& registers, const WordReader& read);

}  // namespace spile::engine::x86_64
