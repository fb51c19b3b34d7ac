#include <fmt/format.h>

#include "abi/kernel.h"
#include "codegen/kernel/lower_kernel.h"
#include "codegen/module/kernel_loops.h"
#include "sema/sharing/name_keys.h"

namespace spile::codegen {

namespace {

uint32_t kernel_string_size(const sema::Limits& limits) {
  int64_t wanted = limits.chooses_string_length ? limits.max_string_length : abi::kDefaultKernelString;
  return static_cast<uint32_t>((wanted + 7) / 8 * 8);
}

void place_kernel_saves(const sema::Program& program, Layout& layout) {
  layout.saves.resize(program.probes.size());
  for (const sema::Probe& probe : program.probes) {
    uint32_t position = 0;
    for (const auto& save : probe.entry_saves) {
      layout.saves[static_cast<size_t>(probe.index)].push_back(position);
      position += save->type == ValueType::kString ? layout.string_size : 8;
    }
  }
}

}  // namespace

Result<Layout> make_kernel_layout(const sema::Program& program) {
  Layout layout;
  layout.string_size = kernel_string_size(program.limits);
  if (layout.string_size > abi::kMaxKernelString) {
    return Error{fmt::format("-D MAXSTRINGLEN={}: handlers in the kernel can have strings of at most {} bytes",
                             program.limits.max_string_length, abi::kMaxKernelString),
                 fmt::format("-D MAXSTRINGLEN={}", abi::kMaxKernelString)};
  }
  layout.string_limit = layout.string_size;
  std::set<const syntax::Global*> visited;
  for (const sema::Probe& probe : program.probes) {
    if (probe.domain == sema::Domain::kKernel) visited.merge(repetitions_of(probe).visited);
  }
  // Handlers that visit an array compare its keys as strings of any length.
  constexpr uint32_t kNameSize = 16;
  std::set<const syntax::Global*> named = sema::arrays_keyed_by_name(program);
  std::erase_if(named, [&](const syntax::Global* global) { return visited.contains(global) || layout.string_size <= kNameSize; });
  for (size_t i = 0; i < program.globals.size(); ++i) {
    GlobalLayout global = measure_global(program, *program.globals[i], layout.string_size);
    bool sharded = program.sharing[i] == sema::Sharing::kSharded;
    if (named.contains(program.globals[i])) global.map.key_size = global.name_size = kNameSize;
    if (sharded && program.globals[i]->is_array) global.map.key_size += 8;
    if (program.sharing[i] != sema::Sharing::kThreadCells) global.map.buckets = sharded ? 1 : 0;
    if (sema::has_lock(program.sharing[i]) || visited.contains(program.globals[i])) global.lock = i + 1;
    layout.globals.push_back(global);
  }
  if (program.globals.size() >= abi::kKernelLocks) {
    return Error{"lay out the script's globals: more than handlers in the kernel can lock", "use fewer globals"};
  }
  place_kernel_saves(program, layout);
  return layout;
}

}  // namespace spile::codegen
