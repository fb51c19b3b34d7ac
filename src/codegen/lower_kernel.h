#pragma once
// The kernel's module: one eBPF program for each probe of that domain (two where entry values are kept until the
// return), and the maps that they need.

#include "codegen/kernel_place.h"

namespace spile::codegen {

// As make_layout, in the kernel's terms: strings are shorter, keys are of fixed size and carry the shard.
Result<Layout> make_kernel_layout(const sema::Program& program);

// Reports to unit.refuse what handlers in the kernel can't do: loops over arrays and the like, which would take more than the
// verifier follows.
void refuse_for_kernel(Unit& unit);

// Exports a function for each program. KernelCode::object stays empty.
KernelCode lower_kernel(Unit& unit, KernelPlace& place);

// After ScriptModule::finish: makes known to LLVM what eBPF needs, before it optimizes.
void prepare_for_kernel(ScriptModule& module);

}  // namespace spile::codegen
