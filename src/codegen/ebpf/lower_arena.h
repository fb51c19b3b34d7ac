#pragma once
// The kernel's module where handlers work over a BPF arena: a program and a body for each probe of that domain.

#include "codegen/ebpf/arena_place.h"

namespace spile::codegen {

// Lays out the arena for handlers in the kernel, if options allow that, an arena can do all that the script's kernel probes ask for, and their
// memory is not too much; else for kernel maps (lower_kernel.h): ArenaLayout::kernel_slots is 0. Errors: those of make_layout().
Result<Layout> layout_for_kernel(const sema::Program& program, const LayoutOptions& options);

// Lowers and exports a function for each program, marked by the attributes of ebpf/loadable.h. Fills KernelCode::programs. Errors go to
// unit.refusals().
KernelCode lower_arena_handlers(Unit& unit, ArenaKernelPlace& place);

}  // namespace spile::codegen
