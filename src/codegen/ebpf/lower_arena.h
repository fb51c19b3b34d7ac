#pragma once
// The kernel's module where handlers work over a BPF arena: a program and a body for each probe of that domain.

#include <optional>

#include "codegen/ebpf/arena_place.h"
#include "codegen/module/layout.h"

namespace spile::codegen {

struct Layouts {
  Layout main;                   // of handlers in spile and in processes, and in the kernel if `kernel` is empty
  std::optional<Layout> kernel;  // of a script that is_mixed() (layout.h)
  std::vector<KernelCode::Copy> copies;
  // bytes, where handlers in the kernel work over its maps because they would take too many over an arena
  uint64_t memory_wanted = 0;
};
// Lays out the arenas. Handlers in the kernel work over one if options allow that and their memory is not too much; else over
// kernel maps (lower_kernel.h): ArenaLayout::kernel_slots is 0. Errors: those of make_layout(); a mixed script's handlers in the
// kernel need too much memory. REQUIRES: options.kernel_cpus > 0 for a script that is_mixed().
Result<Layouts> layouts_of(const sema::Program& program, const LayoutOptions& options);

// Lowers and exports a function for each program, marked by the attributes of ebpf/loadable.h. Fills KernelCode::programs. Errors
// go to unit.refusals().
KernelCode lower_arena_handlers(Unit& unit, ArenaKernelPlace& place);

}  // namespace spile::codegen
