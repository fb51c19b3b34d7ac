#pragma once
// The kernel's module: one eBPF program for each probe of that domain (two where entry values are kept until the
// return), and the maps that they need.

#include "codegen/kernel/kernel_place.h"

namespace spile::codegen {

// Lays out globals that are maps of the kernel: strings are shorter than in make_layout() unless the script says MAXSTRINGLEN,
// keys have a fixed size and carry the shard. GlobalLayout::lock is 1 + the global's index for a kLocked global and for an array
// whose elements a handler visits, MapShape::buckets 1 for a sharded map. No arena is laid out. Errors: more globals than
// handlers can lock, longer strings than they can have.
Result<Layout> make_kernel_layout(const sema::Program& program);

// Rejects what handlers in the kernel can't do, with an error in unit.refusals() at its place in the script. over_arena: handlers
// work over a BPF arena; false: over maps, where the verifier does not follow loops over arrays and the like.
void refuse_for_kernel(Unit& unit, bool over_arena);

// Returns the number of arguments, each in a register, that all functions have which fentry and fexit can take for this probe;
// -1: they can take none of them, or the handler needs registers.
int described_arguments(const sema::Probe& probe);

// Lowers and exports a function for each program. Fills all of KernelCode but the object. Errors go to unit.refusals().
KernelCode lower_kernel(Unit& unit, KernelPlace& place);

// Returns a program or loop of it that is far too large for eBPF once all is inlined, which would take long to find out; null:
// all may fit. REQUIRES: after ScriptModule::finish, before prepare_for_kernel().
const llvm::Function* too_large_program(llvm::Module& module);

// Rewrites a module for LLVM's eBPF back end: everything is inlined, signed division is expanded. REQUIRES: after
// ScriptModule::finish, before optimize().
void prepare_for_kernel(ScriptModule& module);

}  // namespace spile::codegen
