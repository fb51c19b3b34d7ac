#pragma once
// The kernel's module: one eBPF program for each probe of that domain (two where entry values are kept until the
// return), and the maps that they need.

#include "codegen/kernel_place.h"

namespace spile::codegen {

// Lays out globals that are maps of the kernel: strings are shorter than in make_layout() unless the script says MAXSTRINGLEN, keys have a fixed size and carry the
// shard. GlobalLayout::lock is 1 + the global's index for a kLocked global, MapShape::buckets 1 for a sharded map. No arena is laid out.
// Errors: more globals than handlers can lock, longer strings than they can have.
Result<Layout> make_kernel_layout(const sema::Program& program);

// Rejects what handlers in the kernel can't do, with an error in unit.refusals() at its place in the script. over_arena: handlers work over a
// BPF arena; false: over maps, where the verifier does not follow loops over arrays and the like.
void refuse_for_kernel(Unit& unit, bool over_arena);

// Returns whether some points of the probe, tracepoints of system calls, are served by one program that looks at the number of the call.
bool is_served_by_number(const sema::Probe& probe);
// Returns whether the script is to run over kernel maps though the kernel has arenas: it has probes on the lives of all processes; or
// arrays by thread (sema::Sharing::kByThread), or is_served_by_number() of a probe, or functions that fentry can take, and nothing that only handlers over an arena can do.
bool needs_kernel_maps(const sema::Program& program);

// Lowers and exports a function for each program. Fills all of KernelCode but the object. Errors go to unit.refusals().
KernelCode lower_kernel(Unit& unit, KernelPlace& place);

// Rewrites a module for LLVM's eBPF back end: everything is inlined, signed division is expanded. REQUIRES: after
// ScriptModule::finish, before optimize().
void prepare_for_kernel(ScriptModule& module);

}  // namespace spile::codegen
