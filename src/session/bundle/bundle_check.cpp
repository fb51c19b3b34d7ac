// Checks the numbers of a bundle that index something, so that pass 5 can rely on them as on those of its own compiler. Handlers
// for processes are proved by the engine's checker when they are armed, those for the kernel by its verifier.

#include "session/bundle/bundle_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "abi/arena.h"
#include "abi/call_history.h"
#include "abi/kernel.h"
#include "abi/record.h"

namespace spile::session {

namespace {

Error wrong(const char* what) { return {fmt::format("inconsistent bundle ({})", what), "make it again: spile -p4 -o FILE ..."}; }

template <class T>
bool is_index(int64_t number, const std::vector<T>& of) {
  return number >= 0 && static_cast<size_t>(number) < of.size();
}

Result<void> check_probes(const Bundle& bundle) {
  const sema::Program& program = bundle.program;
  for (size_t i = 0; i < program.probes.size(); ++i) {
    const sema::Probe& probe = program.probes[i];
    if (probe.index != static_cast<int>(i) || probe.points.empty()) return wrong("probes");
    for (const sema::ResolvedPoint& point : probe.points) {
      if (point.kind != probe.kind || point.domain != probe.domain) return wrong("points of probes");
      const auto& callers = point.site.callers;
      if (callers && callers->size() < 2) return wrong("callers");
    }
  }
  const sema::Limits& limits = program.limits;
  constexpr int64_t kLargest = int64_t{1} << 31;
  for (int64_t limit : {limits.max_string_length, limits.max_map_entries, limits.max_backtrace}) {
    if (limit < 0 || limit > kLargest) return wrong("limits");
  }
  return {};
}

Result<void> check_sites(const Bundle& bundle) {
  const sema::Program& program = bundle.program;
  for (const sema::SiteGroup& group : program.site_groups) {
    for (const std::vector<int>* probes : {&group.entry_probes, &group.return_probes}) {
      for (int probe : *probes) {
        if (!is_index(probe, program.probes)) return wrong("groups of places");
      }
    }
  }
  for (const sema::ArmedSite& armed : program.sites) {
    if (!is_index(armed.group, program.site_groups)) return wrong("groups of places");
    const sema::SiteGroup& group = program.site_groups[static_cast<size_t>(armed.group)];
    const size_t entries = group.entry_probes.size();
    if (armed.points.size() != entries + group.return_probes.size()) return wrong("points of places");
    for (size_t i = 0; i < armed.points.size(); ++i) {
      const int probe = i < entries ? group.entry_probes[i] : group.return_probes[i - entries];
      if (!is_index(armed.points[i], program.probes[static_cast<size_t>(probe)].points)) return wrong("points of places");
    }
  }
  return {};
}

Result<void> check_image(const abi::CodeImage& image, std::initializer_list<uint32_t> entries) {
  constexpr size_t kLargest = size_t{1} << 30;
  if (image.bytes.size() > kLargest || image.code_begin > image.code_end || image.code_end > image.bytes.size())
    return wrong("code");
  // Its cells are filled in by whoever places it.
  const size_t cells = image.bytes.empty() ? 0 : sizeof(abi::ImageCells);
  if (image.code_begin < cells ||
      std::any_of(
          image.bytes.begin(), image.bytes.begin() + static_cast<ptrdiff_t>(cells), [](uint8_t byte) { return byte != 0; }))
    return wrong("code");
  for (const abi::FaultFixup& fixup : image.fixups) {
    if (fixup.fault_offset < image.code_begin || fixup.fault_offset >= image.code_end) return wrong("places of faults");
    if (fixup.resume_offset < image.code_begin || fixup.resume_offset >= image.code_end) return wrong("places of faults");
  }
  for (uint32_t entry : entries) {
    if (entry != 0 && (entry < image.code_begin || entry >= image.code_end)) return wrong("entries of code");
  }
  return {};
}

Result<void> check_code(const Bundle& bundle) {
  const sema::Program& program = bundle.program;
  const codegen::TargetCode& target = bundle.script.target;
  TRY_DO(check_image(target.image, {target.unwind, target.walked, target.landing, target.caught, target.step_enter,
                                    target.step_exit, target.keep_entry, target.call_enter, target.call_exit}));
  if (!target.image.bytes.empty() && target.groups.size() != program.site_groups.size()) return wrong("handlers of groups");
  for (const codegen::ImageEntry& entry : target.groups)
    TRY_DO(check_image(target.image, {entry.enter, entry.exit, entry.entry}));
  if (target.groups.size() < program.site_groups.size() && !program.sites.empty()) return wrong("handlers of groups");
  const codegen::ControllerCode& controller = bundle.script.controller;
  TRY_DO(check_image(controller.image, {controller.init, controller.merge, controller.walk_stack, controller.global_clear,
                                        controller.global_put, controller.global_add, controller.global_next}));
  if (controller.init == 0 || controller.probes.size() != program.probes.size() ||
      controller.conditions.size() != program.probes.size())
    return wrong("handlers of spile");
  for (uint32_t probe : controller.probes) TRY_DO(check_image(controller.image, {probe}));
  for (uint32_t condition : controller.conditions) TRY_DO(check_image(controller.image, {condition}));
  return {};
}

Result<void> check_layout(const codegen::ArenaLayout& layout, const char* what) {
  constexpr uint64_t kLargest = uint64_t{1} << 42;
  if (layout.size > kLargest || layout.slot_count > abi::kMostSlots + abi::kFirstSlot || layout.kernel_slots > layout.slot_count)
    return wrong(what);
  for (uint64_t offset :
       {layout.globals_offset, layout.private_offset, layout.exchange_offset, layout.slots_offset, layout.frames_offset,
        layout.entries_offset, layout.tables_offset, layout.kernel_code_offset, layout.constants_offset, layout.shared_offset}) {
    if (offset > layout.size) return wrong(what);
  }
  if (layout.processes_offset > layout.size && layout.kernel_offset == 0) return wrong(what);
  for (auto [offset, size] :
       {std::pair(layout.exchange_offset, layout.exchange_size), std::pair(layout.tables_offset, layout.tables_size),
        std::pair(layout.kernel_code_offset, layout.kernel_code_size), std::pair(layout.shared_offset, layout.shared_size)}) {
    if (size > layout.size - offset) return wrong(what);
  }
  if (layout.slot_count > 0 &&
      (layout.slot_stride > layout.size || layout.slot_stride > (layout.size - layout.slots_offset) / layout.slot_count))
    return wrong(what);
  for (auto [offset, size] :
       {std::pair(layout.scratch_offset, layout.scratch_size), std::pair(layout.ring_offset, layout.ring_size)}) {
    if (uint64_t{offset} + size > layout.slot_stride) return wrong(what);
  }
  if ((layout.ring_size & (layout.ring_size - 1)) != 0 || (layout.calls_capacity & (layout.calls_capacity - 1)) != 0)
    return wrong(what);
  if (layout.calls_offset + uint64_t{layout.calls_capacity} * sizeof(abi::CallRecord) > layout.slot_stride) return wrong(what);
  if (layout.record_owner_size != 0 && layout.record_owner_size != sizeof(abi::RecordOwner)) return wrong(what);
  for (uint32_t size : {layout.kernel_ring_size, layout.kernel_small_ring_size}) {
    if (layout.kernel_slots > 0 &&
        (!std::has_single_bit(size) || size < abi::kPageSize || uint64_t{layout.ring_offset} + size > layout.slot_stride))
      return wrong(what);
  }
  return {};
}

// Where the session's own memory lies, as place_private() puts it (codegen/module/layout.cpp): ArenaView covers it where
// processes see the arena.
Result<void> check_private(const Bundle& bundle) {
  const codegen::ArenaLayout& layout = bundle.script.layout;
  const char* what = "private memory";
  const bool is_seen = !bundle.script.target.image.bytes.empty();
  if (layout.globals_offset < sizeof(abi::ArenaHeader) || layout.private_offset < layout.globals_offset ||
      layout.exchange_offset < layout.private_offset)
    return wrong(what);
  if (is_seen && layout.private_offset % abi::kPageSize != 0) return wrong(what);
  if (layout.slots_offset % abi::kPageSize != 0 || layout.exchange_size < codegen::kExchangeHead) return wrong(what);
  if (layout.exchange_offset + layout.exchange_size + abi::kStackCopySize + abi::kStrayPageSize + abi::kPageSize >
      layout.slots_offset)
    return wrong(what);
  for (uint64_t offset :
       {layout.slot_stride, uint64_t{layout.ring_offset}, uint64_t{layout.scratch_offset}, uint64_t{layout.shadow_offset}}) {
    if (offset % sizeof(uint64_t) != 0) return wrong(what);
  }
  if (layout.slot_count <= abi::kOverflowSlot || layout.ring_size < abi::kPageSize) return wrong(what);
  return {};
}

// Where the arena of handlers in the kernel lies beside that of processes, as make_mixed_layout() puts it
// (codegen/module/layout.cpp), and what both share.
Result<void> check_both(const Bundle& bundle) {
  constexpr uint64_t kReach = uint64_t{1} << 32;
  const codegen::ArenaLayout& layout = bundle.script.layout;
  const codegen::KernelCode& kernel = bundle.script.kernel;
  const char* what = "memory of processes and the kernel";
  if (layout.kernel_offset == 0) return layout.shared_size == 0 ? Result<void>() : wrong(what);
  if (!kernel.over_arena || kernel.object.empty()) return wrong(what);
  if (layout.kernel_offset != (layout.size + kReach - 1) / kReach * kReach + abi::kKernelArenaBase) return wrong(what);
  if (layout.shared_size > abi::kLargestKernelShared || layout.shared_size % abi::kPageSize != 0 ||
      layout.shared_offset % abi::kPageSize != 0)
    return wrong(what);
  if (kernel.arena.size > abi::kLargestKernelArena || layout.processes_offset > layout.kernel_offset + kernel.arena.size)
    return wrong(what);
  return {};
}

Result<void> check_counters(const Bundle& bundle) {
  const std::vector<uint32_t>& counters = bundle.script.hit_counters;
  const uint64_t stride = bundle.script.layout.slot_stride;
  if (counters.size() != bundle.program.probes.size()) return wrong("counters of hits");
  for (uint32_t offset : counters) {
    if (offset != 0 && (offset % sizeof(uint64_t) != 0 || offset + sizeof(uint64_t) > stride)) return wrong("counters of hits");
  }
  return {};
}

// What printf_text.cpp relies on: linear_buckets() divides by the width.
Result<void> check_formats(const Bundle& bundle) {
  constexpr int kWidest = 1 << 24;
  for (const syntax::OutputFormat& format : bundle.script.formats) {
    if (format.kind == syntax::OutputFormat::Kind::kHistogram && !format.is_log &&
        (format.width <= 0 || format.low > format.high))
      return wrong("histograms");
    for (const syntax::FormatPart& part : format.parts) {
      if (part.width > kWidest || part.precision > kWidest) return wrong("formats");
    }
  }
  return {};
}

Result<void> check_kernel(const Bundle& bundle) {
  const sema::Program& program = bundle.program;
  const codegen::KernelCode& kernel = bundle.script.kernel;
  if (kernel.object.empty() != bundle.kernel.release.empty()) return wrong("the kernel's release");
  for (const codegen::KernelMap& map : kernel.maps) {
    if (map.global != -1 && !is_index(map.global, program.globals)) return wrong("maps");
    if (map.value_size > (1u << 30) || map.key_size > (1u << 20) || (map.global >= 0 && map.value_size == 0))
      return wrong("maps");
  }
  for (const codegen::KernelProgram& entry : kernel.programs) {
    if (entry.keeps_lives && entry.probe == -1) continue;
    if (!is_index(entry.probe, program.probes)) return wrong("programs");
    for (uint32_t point : entry.points) {
      if (!is_index(point, program.probes[static_cast<size_t>(entry.probe)].points)) return wrong("programs");
    }
  }
  for (const codegen::KernelCode::Copy& copy : kernel.copies) {
    if (copy.from > bundle.script.layout.size || copy.size > bundle.script.layout.size - copy.from) return wrong("copies");
    if (copy.to > kernel.arena.size || copy.size > kernel.arena.size - copy.to) return wrong("copies");
  }
  return check_layout(kernel.arena, "the kernel's memory");
}

}  // namespace

Result<void> check_bundle(const Bundle& bundle) {
  TRY_DO(check_probes(bundle));
  TRY_DO(check_sites(bundle));
  TRY_DO(check_code(bundle));
  TRY_DO(check_layout(bundle.script.layout, "memory"));
  TRY_DO(check_private(bundle));
  TRY_DO(check_both(bundle));
  TRY_DO(check_counters(bundle));
  TRY_DO(check_formats(bundle));
  return check_kernel(bundle);
}

}  // namespace spile::session
