#pragma once
// Makes an optimized module of handlers in the kernel loadable: what LLVM's eBPF back end can emit, and what the kernel's
// verifier accepts (https://docs.kernel.org/bpf/verifier.html). Handlers work over a BPF arena (abi/kernel.h), so nothing here
// depends on what a script does.
//
//   functions   every function but a program's own is checked once, on its own: numbers go in (five at most) and one comes out
//   recursion   functions that call each other in a circle become one, with a stack in the arena
//   calls       eight functions are active at most, the program one of them: in longer chains some become parts of their callers
//   frames      variables that have no place in registers move from the stack of eBPF, which has 512 bytes, to the slot in the
//               arena
//   constants   literals and tables move to the arena
//   pointers    each access casts the address, a number to the verifier, to the arena; where globals are shared with processes,
//               an address that may be theirs goes to a function that looks which of both it is
//   loops       each turn passes a may_goto, which bounds it; no loop variable starts with a value that the verifier knows

#include "base/result.h"
#include "codegen/module/script_module.h"

namespace spile::codegen {

inline constexpr unsigned kMostActive = 8;  // functions: MAX_CALL_FRAMES in the kernel's include/linux/bpf_verifier.h

// Attributes by which lower_arena.cpp marks functions of the module.
inline constexpr char kProgramAttribute[] = "spile-program";  // the program itself: int(void* context). REQUIRES: without a loop
inline constexpr char kBodyAttribute[] = "spile-body";        // void(Context*, void* program_context), called by a program alone

// Has large handlers call the runtime's functions instead of containing them: a body has limits of the kernel's and of the
// instruction set's. REQUIRES: before optimize().
void limit_inlining(ScriptModule& module);

// Each function gets a section of its own, by whose name the loader knows it (abi/kernel.h); the section kKernelConstantsSection
// has what the arena is to have from constants_offset on, bytes from its start, a multiple of 16. REQUIRES: after optimize().
// Errors: variables that don't fit into the slot's frame.
struct LoadableOptions {
  uint64_t constants_offset = 0;
  uint32_t deepest = 0;  // calls of recursive functions in one another, at most (MAXNESTING)
  // Handlers use globals that processes change, too (abi/kernel.h, kKernelSharedMap). REQUIRES: keep_shared_accesses() was
  // called.
  bool shares = false;
};
Result<void> make_loadable(ScriptModule& module, const LoadableOptions& options);

// Keeps the functions of runtime/kernel/shared.cpp in a module whose handlers use such globals. REQUIRES: before
// ScriptModule::finish().
void keep_shared_accesses(ScriptModule& module);

// -- the steps, in this order; each works on all functions of the module

// Makes functions that take or return structures parts of their callers.
void inline_what_must_be(llvm::Module& module);
// Gives functions that have variables, or that pass more arguments than registers can hold, the context of their callers as
// another first argument; else they would become a part of each caller. REQUIRES: before simplify_signatures().
void pass_contexts(llvm::Module& module);
// Makes every function but programs one of numbers. REQUIRES: after inline_what_must_be().
void simplify_signatures(llvm::Module& module);
// Replaces intrinsics of memory, and atomic loads, stores and fences, which the back end doesn't know.
void expand_memory(llvm::Module& module);
// REQUIRES: after simplify_signatures(); recursive functions have the handler's context as their first argument.
void unroll_recursion(llvm::Module& module, uint32_t deepest);
// Makes functions parts of their callers, small ones first, where more than `deepest` are active at a time. A function whose
// callers would grow too much stays. REQUIRES: after unroll_recursion().
void shorten_calls(llvm::Module& module, unsigned deepest);
Result<void> move_frames(llvm::Module& module);
// Lets helpers that write one number each use the same place on the stack of eBPF, one after the other.
void share_helper_buffers(llvm::Module& module);
void move_constants(llvm::Module& module, uint64_t constants_offset);
// Makes a number of the program's own argument, where a handler computes with it: the verifier takes no pointer of the kernel's
// for a number.
void hide_program_context(llvm::Module& module);
void bound_loops(llvm::Module& module);
// Makes 0 of each value that the optimizer has left open because nobody looks at it, such as an argument that a function does not
// use: the verifier takes no register that nothing was written to.
void define_values(llvm::Module& module);
Result<void> cast_pointers(llvm::Module& module, bool shares);

// Makes a function of another type with the body and the attributes of `from`, which it leaves without them. The body still has
// the arguments of `from`.
llvm::Function* take_body(llvm::Function& from, llvm::FunctionType* type);

// What LLVM's passes ask for.
struct Analyses {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  Analyses();
};

// Whether the program or body gets the argument of the eBPF program by this one: memory of the kernel's, outside of the arena.
bool is_program_context(const llvm::Value* value);
// Whether this variable lies on the stack of eBPF, because a helper writes to it.
bool is_helper_buffer(const llvm::AllocaInst& variable);

}  // namespace spile::codegen
