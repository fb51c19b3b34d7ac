#include "codegen/module/layout.h"

#include <algorithm>
#include <bit>

#include "abi/call_history.h"
#include "abi/kernel.h"
#include "abi/map_layout.h"
#include "abi/stack_tables.h"
#include "abi/thread_cells.h"
#include "sema/terms/intrinsics.h"
#include "syntax/visitor.h"

namespace spile::codegen {

namespace {

using sema::Sharing;

constexpr uint64_t kCacheLine = 64;
constexpr uint64_t kLargestArena = 1ull << 43;  // pages are counted in 32 bits
constexpr uint64_t kLeastSlots = 8, kFewSlots = 1024;
constexpr uint64_t kMostSeen = 64 << 20;            // bytes of what has been merged of each slot, unless there are few slots
constexpr uint64_t kLargestRegion = 0xffff0000;     // slots are addressed by 32 bits inside
constexpr uint64_t kTablesSize = 256ull << 20;      // of modules' unwind rules and symbols; what is not used costs nothing
constexpr uint64_t kKernelCodeSize = 1ull << 20;    // where the kernel's own functions are, as far as stacks need it
constexpr uint64_t kKernelNamesSize = 32ull << 20;  // names of all functions of the kernel; what is not used costs nothing
constexpr uint32_t kIterationBytes = 32;            // a foreach's snapshot, per element
constexpr uint32_t kNestedIterations = 4;

constexpr uint64_t align(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

uint32_t aggregate_features(const sema::AggregateUse& use) {
  using Operator = syntax::Statistic::Operator;
  auto extracts = [&](Operator op) { return (use.statistics >> static_cast<uint32_t>(op) & 1) != 0; };
  uint32_t features = abi::kAggregateCount;  // always: what is empty is known by it
  if (extracts(Operator::kSum) || extracts(Operator::kAverage)) features |= abi::kAggregateSum;
  if (extracts(Operator::kMin)) features |= abi::kAggregateMin;
  if (extracts(Operator::kMax)) features |= abi::kAggregateMax;
  if (extracts(Operator::kVariance)) features |= abi::kAggregateVariance | abi::kAggregateSum | abi::kAggregateMin;
  if (extracts(Operator::kPercentile)) features |= abi::kAggregateSketch | abi::kAggregateMin | abi::kAggregateMax;
  if (use.log) features |= abi::kAggregateLog;
  if (use.linear) features |= abi::kAggregateLinear;
  return features;
}

abi::AggregateShape aggregate_shape(const sema::AggregateUse& use) {
  abi::AggregateShape shape{};
  shape.features = aggregate_features(use);
  uint32_t buckets = use.log ? abi::kLogBuckets : 0;
  if (use.linear) {
    shape.low = use.low;
    shape.high = use.high;
    shape.width = use.width;
    shape.linear_buckets = abi::linear_buckets(use.low, use.high, use.width);
    buckets = shape.linear_buckets + 2;
  }
  shape.size = static_cast<uint32_t>(sizeof(abi::Aggregate) + 8 * buckets);
  if (shape.features & abi::kAggregateSketch) shape.size += abi::kSketchBytes;
  return shape;
}

uint32_t value_size(const syntax::Global& global, const GlobalLayout& layout, uint32_t string_size, bool counts_updates) {
  if (global.type == ValueType::kStats) return layout.aggregate.size;
  if (global.type == ValueType::kString) return string_size;
  return counts_updates ? abi::kCountedLong : 8;
}

abi::MapShape map_shape(const syntax::Global& global, const GlobalLayout& layout, uint32_t string_size,
                        const sema::Program& program) {
  abi::MapShape shape{};
  for (size_t key = 0; key < global.key_types.size(); ++key) {
    bool is_string = global.key_types[key] == ValueType::kString;
    shape.key_size += is_string ? string_size : 8;
    if (is_string) shape.string_keys |= 1u << key;
  }
  int64_t capacity = global.declared_size.value_or(program.limits.max_map_entries);
  shape.value_size = value_size(global, layout, string_size, program.counts_updates[static_cast<size_t>(global.index)]);
  shape.capacity = static_cast<uint32_t>(std::clamp<int64_t>(capacity, 1, 1 << 30));
  shape.wraps = global.array_kind == syntax::ArrayKind::kWrapping ? 1 : 0;
  shape.key_count = static_cast<uint32_t>(global.key_types.size());
  shape.buckets = abi::map_buckets(shape.capacity);
  if (global.type == ValueType::kStats) shape.aggregate = layout.aggregate.features;
  return shape;
}

// Globals that no handler in another process ever touches.
bool is_private(Sharing sharing) {
  return sharing == Sharing::kController || sharing == Sharing::kSharded || sharing == Sharing::kUnused;
}

// Which of the script's handlers an arena is for.
enum class Part : uint8_t { kAll, kProcesses, kKernel };

// Where a global lies that is not private.
enum class Home : uint8_t { kHere, kOtherArena, kSharedPages };
Home home_of(const sema::Program& program, Part part, size_t global) {
  const sema::Sides& sides = program.sides[global];
  if (part == Part::kAll || program.sharing[global] == Sharing::kReadOnly) return Home::kHere;
  if (sides.process && sides.kernel) return Home::kSharedPages;
  return sides.kernel == (part == Part::kKernel) ? Home::kHere : Home::kOtherArena;
}

constexpr uint64_t kLockBytes = 16;

// Places the globals that `takes` accepts. Values of locked globals keep a cache line to themselves, together with their lock
// where they are small.
template <typename Takes>
uint64_t place_globals(const sema::Program& program, Layout& layout, Takes&& takes, uint64_t at) {
  for (size_t i = 0; i < layout.globals.size(); ++i) {
    if (!takes(i)) continue;
    GlobalLayout& global = layout.globals[i];
    bool locked = sema::has_lock(program.sharing[i]);
    bool apart = locked || global.size >= kCacheLine;
    at = align(at, apart ? kCacheLine : 8);
    if (locked) {
      global.lock = at;
      at += kLockBytes;
    }
    global.storage = at;
    at = align(at + global.size, apart ? kCacheLine : 8) + (global.stripes - 1) * global.stripe_size;
  }
  return at;
}

uint64_t place_switches(const sema::Program& program, Layout& layout, uint64_t at) {
  layout.switches.assign(program.probes.size(), 0);
  for (const sema::Probe& probe : program.probes) {
    if (!probe.switched) continue;
    layout.switches[static_cast<size_t>(probe.index)] = at = align(at, 8);
    at += 8;
  }
  return at;
}

uint64_t place_seen(const sema::Program& program, Layout& layout, uint64_t at) {
  for (size_t i = 0; i < layout.globals.size(); ++i) {
    const syntax::Global& global = *program.globals[i];
    if (program.sharing[i] != Sharing::kSharded || global.is_array || global.type == ValueType::kStats) continue;
    layout.globals[i].seen = at;
    at += 8ull * layout.arena.slot_count;
  }
  return at;
}

// A key, a value, and what goes with them: kExchangeHead bytes.
uint64_t exchange_bytes(const Layout& layout) {
  uint64_t most = 0;
  for (const GlobalLayout& global : layout.globals) {
    uint64_t value = global.map.capacity ? global.map.value_size : global.size;
    most = std::max<uint64_t>(most, align(global.map.key_size, 8) + align(value, 8));
  }
  const uint64_t bytes = kExchangeHead + 2 * most + abi::kPageSize;  // the kernel's form of a key or value can be a little larger
  return std::max<uint64_t>(bytes, 8 * abi::kMostFrames);            // a stack that spile walks
}

uint64_t place_shared(const sema::Program& program, Layout& layout, Part part) {
  auto lies = [&](Home home) {
    return [&program, part, home](size_t global) {
      return !is_private(program.sharing[global]) && home_of(program, part, global) == home;
    };
  };
  uint64_t at =
      align(place_switches(program, layout, place_globals(program, layout, lies(Home::kHere), layout.arena.globals_offset)),
            abi::kPageSize);
  if (part != Part::kProcesses) return at;
  layout.arena.shared_offset = at;
  at = align(place_globals(program, layout, lies(Home::kSharedPages), at), abi::kPageSize);
  layout.arena.shared_size = at - layout.arena.shared_offset;
  return at;
}

void place_private(const sema::Program& program, Layout& layout, uint64_t at) {
  ArenaLayout& arena = layout.arena;
  arena.private_offset = at;
  at = place_globals(program, layout, [&](size_t global) { return is_private(program.sharing[global]); }, at);
  arena.exchange_offset = at = align(place_seen(program, layout, at), kCacheLine);
  arena.exchange_size = exchange_bytes(layout);
  at = align(at + arena.exchange_size, abi::kPageSize);
  arena.slots_offset = at + abi::kStackCopySize + abi::kStrayPageSize + abi::kPageSize;
}

// Returns the bytes of a slot's shards.
uint64_t place_shards(const sema::Program& program, Layout& layout) {
  uint64_t scalars = 0, epoch = 0;
  for (size_t i = 0; i < layout.globals.size(); ++i) {
    if (program.sharing[i] != Sharing::kSharded) continue;
    const syntax::Global& global = *program.globals[i];
    GlobalLayout& place = layout.globals[i];
    place.in_epochs = global.is_array || global.type == ValueType::kStats;
    if (!place.in_epochs) {
      place.shard = scalars;
      scalars += 8;
    }
  }
  scalars = align(scalars, kCacheLine);
  for (GlobalLayout& place : layout.globals) {
    if (!place.in_epochs) continue;
    place.shard = scalars + epoch;
    epoch += align(place.size, kCacheLine);
  }
  layout.epoch_stride = static_cast<uint32_t>(epoch);
  return scalars + 2 * epoch;
}

// The entry values of all return probes of one site share its frame, one after another.
uint32_t place_saves(const sema::Program& program, Layout& layout) {
  layout.saves.resize(program.probes.size());
  uint32_t most = 0;
  auto add = [&](const sema::SiteGroup& group) {
    uint32_t at = 0;
    for (int index : group.return_probes) {
      std::vector<uint32_t>& saves = layout.saves[static_cast<size_t>(index)];
      bool first_time = saves.empty();
      uint32_t position = 0;
      for (const auto& save : program.probes[static_cast<size_t>(index)].entry_saves) {
        if (first_time) saves.push_back(position);
        position += save->type == ValueType::kString ? layout.string_size : 8;
      }
      at += position;
    }
    most = std::max(most, at);
  };
  for (const sema::SiteGroup& group : program.site_groups) add(group);
  // Each return probe of the kernel has frames of its own.
  for (const sema::Probe& probe : program.probes) {
    if (probe.domain != sema::Domain::kKernel) continue;
    std::vector<uint32_t>& saves = layout.saves[static_cast<size_t>(probe.index)];
    uint32_t position = 0;
    for (const auto& save : probe.entry_saves) {
      saves.push_back(position);
      position += save->type == ValueType::kString ? layout.string_size : 8;
    }
    most = std::max(most, position);
  }
  return most;
}

uint64_t scratch_bytes(const sema::Program& program, const Layout& layout) {
  uint64_t largest_map = 0;
  for (const GlobalLayout& global : layout.globals) largest_map = std::max<uint64_t>(largest_map, global.map.capacity);
  uint64_t frames = 32ull * layout.string_size * static_cast<uint64_t>(std::max<int64_t>(program.limits.max_nesting, 1) + 2);
  return std::max<uint64_t>(256 << 10, frames) + kNestedIterations * kIterationBytes * largest_map;
}

bool has_domain(const sema::Program& program, sema::Domain domain) {
  return std::ranges::any_of(program.probes, [&](const sema::Probe& probe) { return probe.domain == domain; });
}

bool has_kind(const sema::Program& program, sema::ProbeKind kind) {
  return std::ranges::any_of(
      program.probes, [&](const sema::Probe& probe) { return probe.kind == kind && probe.domain == sema::Domain::kTarget; });
}

// The number of slots: one for each thread that there may be, or as many as fit.
uint32_t count_slots(const sema::Program& program, const LayoutOptions& options, uint64_t stride) {
  auto scalars = static_cast<uint64_t>(std::ranges::count(program.sharing, Sharing::kSharded));
  uint64_t most = std::max(kMostSeen / (8 * std::max<uint64_t>(scalars, 1)), kFewSlots);
  return static_cast<uint32_t>(
      std::max(std::min({options.address_space / stride, most, uint64_t{options.slot_count}}), kLeastSlots));
}

// Whether handlers in the kernel write records all the time; errors and exit() write a few.
bool kernel_prints(const sema::Program& program) {
  auto prints = [](const syntax::Statement& body) {
    bool found = false;
    syntax::for_each_expression(body, [&](const syntax::Expression& e) {
      const auto* print = syntax::as<syntax::Print>(e);
      const auto* call = syntax::as<syntax::Call>(e);
      const sema::Intrinsic* intrinsic =
          call && call->intrinsic >= 0 ? &sema::intrinsics()[static_cast<size_t>(call->intrinsic)] : nullptr;
      found |=
          (print && print->to_stream) || (intrinsic && intrinsic->result == ValueType::kUnknown && intrinsic->name != "exit");
    });
    return found;
  };
  return std::ranges::any_of(
             program.probes,
             [&](const sema::Probe& probe) { return probe.domain == sema::Domain::kKernel && prints(*probe.body); }) ||
         std::ranges::any_of(program.functions,
                             [&](const syntax::Function* function) { return function->body && prints(*function->body); });
}

// Rings of handlers in the kernel take memory whether they are used or not. A CPU's lowest level gets 32 MiB where there are up
// to eight CPUs (with -s 4, the default), as its records come as fast as a processor makes them and nobody can be waited for.
void size_kernel_rings(const sema::Program& program, const LayoutOptions& options, ArenaLayout& arena) {
  constexpr uint64_t kAll = 256 << 20, kSmall = 64 << 10;
  uint64_t scale = std::max<uint64_t>(options.ring_size >> 22, 1);
  uint64_t share = std::bit_floor(std::clamp<uint64_t>(kAll / options.kernel_cpus, kSmall, options.kernel_ring));
  arena.kernel_ring_size =
      kernel_prints(program) ? static_cast<uint32_t>(std::min<uint64_t>(share * std::bit_floor(scale), 256 << 20)) : kSmall;
  arena.kernel_small_ring_size = kSmall;
}

// Places what handlers of all processes use besides globals, from `at` on, the tables of modules not before `tables_from`.
// Returns where it ends.
uint64_t place_tables(const sema::Program& program, Layout& layout, Part part, bool has_targets, bool uses_arena,
                      uint64_t tables_from, uint64_t at) {
  ArenaLayout& arena = layout.arena;
  bool kernel_keeps_calls = uses_arena && std::ranges::any_of(program.probes, [](const sema::Probe& probe) {
                              return probe.domain == sema::Domain::kKernel && !probe.entry_saves.empty();
                            });
  bool keeps_calls = has_targets && std::ranges::any_of(program.site_groups, [&](const sema::SiteGroup& group) {
                       return group.go && std::ranges::any_of(group.return_probes, [&](int probe) {
                                return !program.probes[static_cast<size_t>(probe)].entry_saves.empty();
                              });
                     });
  if (keeps_calls) {
    arena.frames_offset = at;
    at = align(at + abi::kGoroutineSets * abi::goroutine_set_stride(arena.shadow_stride), abi::kPageSize);
  }
  if (kernel_keeps_calls) {
    CHECK(!keeps_calls);  // of one arena
    arena.frames_offset = at;
    at = align(at + abi::kKernelFrameSets * abi::goroutine_set_stride(arena.shadow_stride), abi::kPageSize);
  }
  if (has_targets && !program.sites.kept_functions().empty()) {
    arena.entries_offset = at;
    const auto registers = static_cast<uint32_t>(program.sites.kept_registers().size());
    at = align(at + abi::kEntrySets * abi::entry_set_stride(registers), abi::kPageSize);
  }
  constexpr uint32_t kStacks = sema::kNeedsStack | sema::kNeedsModules | sema::kNeedsSymbols | sema::kNeedsLines;
  bool has_subjects = part != Part::kKernel && std::ranges::any_of(program.probes, [](const sema::Probe& p) {
                        return p.domain == sema::Domain::kController && sema::info(p.kind).has_subject;
                      });
  bool walks_in_kernel = uses_arena && program.needs & kStacks;
  if (walks_in_kernel) {
    at = align(at, abi::kPageSize);
    arena.processes_offset = at;
    at = align(at + sizeof(abi::ProcessMaps), abi::kPageSize);
  }
  if ((has_targets || has_subjects || walks_in_kernel) && program.needs & kStacks) {
    arena.tables_offset = std::max(at, tables_from);
    arena.tables_size = program.needs & sema::kNeedsLines ? 2 * kTablesSize : kTablesSize;
    at = arena.tables_offset + arena.tables_size;
  }
  // Over the kernel's maps, handlers of spile's own name the kernel's addresses.
  const bool over_maps = part != Part::kProcesses && !uses_arena && has_domain(program, sema::Domain::kKernel);
  if ((uses_arena && program.needs & sema::kNeedsKernelStack) ||
      ((uses_arena || over_maps) && program.needs & sema::kNeedsKernelNames)) {
    at = align(at, abi::kPageSize);
    arena.kernel_code_offset = at;
    arena.kernel_code_size = kKernelCodeSize + (program.needs & sema::kNeedsKernelNames ? kKernelNamesSize : 0);
    at += arena.kernel_code_size;
  }
  return at;
}

}  // namespace

// Stripes that no thread touches cost address space alone, but for those in pages that the kernel shares.
static void divide(GlobalLayout& layout, bool in_kernel) {
  constexpr uint32_t kMostStripes = 64;
  const uint64_t most_bytes = in_kernel ? 16 << 20 : 512 << 20;
  layout.stripe_size = align(kLockBytes + layout.size, kCacheLine);
  while (layout.stripes < kMostStripes && 2 * layout.stripes * layout.stripe_size <= most_bytes) layout.stripes *= 2;
}

GlobalLayout measure_global(const sema::Program& program, const syntax::Global& global, uint32_t string_size) {
  GlobalLayout layout;
  if (global.type == ValueType::kStats) layout.aggregate = aggregate_shape(sema::aggregate_use(program, global));
  if (global.is_array) {
    layout.map = map_shape(global, layout, string_size, program);
    layout.size = abi::map_bytes(layout.map.key_size, layout.map.value_size, layout.map.capacity, layout.map.buckets);
    const auto index = static_cast<size_t>(global.index);
    if (program.sharing[index] == Sharing::kThreadCells) {
      layout.map.buckets = abi::cell_sets(layout.map.capacity);
      layout.size = layout.map.buckets * sizeof(abi::ThreadCellSet);
    }
    if (program.sharing[index] == Sharing::kStriped) divide(layout, program.sides[index].kernel);
  } else {
    layout.size = value_size(global, layout, string_size, false);
  }
  return layout;
}

namespace {

Result<Layout> make_part(const sema::Program& program, const LayoutOptions& options, Part part, uint64_t tables_from = 0) {
  Layout layout;
  ArenaLayout& arena = layout.arena;
  layout.string_limit = static_cast<uint32_t>(program.limits.max_string_length);
  layout.string_size = static_cast<uint32_t>(align(layout.string_limit, 8));
  bool has_targets = part != Part::kKernel && has_domain(program, sema::Domain::kTarget);
  arena.globals_offset = abi::kPageSize;
  for (const syntax::Global* global : program.globals) {
    layout.globals.push_back(measure_global(program, *global, layout.string_size));
  }
  uint64_t at = abi::kThreadSlotSize;
  arena.shards_offset = static_cast<uint32_t>(at);
  at = align(at + place_shards(program, layout), kCacheLine);
  uint64_t shadow_offset = at;
  arena.shadow_stride = static_cast<uint32_t>(sizeof(abi::ShadowFrame)) + place_saves(program, layout);
  arena.shadow_capacity = has_kind(program, sema::ProbeKind::kFunctionReturn) ? options.shadow_capacity : 0;
  at = align(at + static_cast<uint64_t>(arena.shadow_stride) * arena.shadow_capacity, kCacheLine);
  uint64_t scratch_offset = at;
  uint64_t scratch_size = align(scratch_bytes(program, layout), kCacheLine);
  bool uses_arena = part != Part::kProcesses && options.kernel_cpus > 0 && has_domain(program, sema::Domain::kKernel);
  uint64_t frame_offset = align(at + scratch_size, kCacheLine);
  uint64_t kernel_stack =
      program.needs & sema::kNeedsKernelStack ? abi::kernel_stack_size(static_cast<uint32_t>(program.limits.max_backtrace)) : 0;
  uint64_t kernel_frame = uses_arena ? abi::kKernelFrameSize + kernel_stack : 0;
  uint64_t ring_offset = align(frame_offset + kernel_frame, abi::kPageSize);
  arena.ring_size = options.ring_size;
  arena.record_owner_size = options.owned_records ? sizeof(abi::RecordOwner) : 0;
  if (uses_arena) size_kernel_rings(program, options, arena);
  uint64_t slot_end = align(ring_offset + std::max(arena.ring_size, arena.kernel_ring_size), abi::kPageSize);
  if (has_targets && program.needs & sema::kNeedsCallHistory) {
    arena.calls_capacity = std::bit_ceil(static_cast<uint32_t>(program.limits.max_noted_calls));
    arena.calls_offset = static_cast<uint32_t>(slot_end);
    slot_end += uint64_t{arena.calls_capacity} * sizeof(abi::CallRecord);
  }
  arena.slot_stride = slot_end;
  arena.slot_count = has_targets ? count_slots(program, options, arena.slot_stride) : abi::kFirstSlot;
  if (uses_arena) {
    arena.kernel_frame_offset = static_cast<uint32_t>(frame_offset);
    arena.kernel_slots = options.kernel_cpus * abi::kKernelLevels;
    arena.slot_count += arena.kernel_slots;
  }
  place_private(program, layout,
                place_tables(program, layout, part, has_targets, uses_arena, tables_from, place_shared(program, layout, part)));
  arena.size = arena.slots_offset + arena.slot_stride * arena.slot_count;
  if (uses_arena) arena.constants_offset = arena.size;
  if (arena.slot_stride > kLargestRegion || arena.size > kLargestArena) {
    return Error{"lay out the script's globals: they need more memory than one process can map",
                 "make arrays smaller (global a[N], -D MAXMAPENTRIES=N) or use a smaller -s"};
  }
  arena.shadow_offset = static_cast<uint32_t>(shadow_offset);
  arena.scratch_offset = static_cast<uint32_t>(scratch_offset);
  arena.scratch_size = static_cast<uint32_t>(scratch_size);
  arena.ring_offset = static_cast<uint32_t>(ring_offset);
  return layout;
}

// What lies in the other arena, or in the pages of both, gets its place as it is seen from here.
void place_elsewhere(const sema::Program& program, MixedLayout& mixed) {
  const ArenaLayout& arena = mixed.processes.arena;
  for (size_t i = 0; i < mixed.kernel.globals.size(); ++i) {
    GlobalLayout &theirs = mixed.processes.globals[i], &ours = mixed.kernel.globals[i];
    if (is_private(program.sharing[i])) continue;
    if (program.sharing[i] == Sharing::kReadOnly) {
      if (program.sides[i].kernel) mixed.copies.push_back({theirs.storage, arena.kernel_offset + ours.storage, ours.size});
    } else if (home_of(program, Part::kKernel, i) == Home::kHere) {
      theirs.storage = arena.kernel_offset + ours.storage;
      theirs.lock = ours.lock ? arena.kernel_offset + ours.lock : 0;
    } else if (home_of(program, Part::kKernel, i) == Home::kSharedPages) {
      constexpr uint64_t kFromHere = abi::kKernelSharedBase - abi::kKernelArenaBase;  // what an offset is added to, there
      ours.storage = kFromHere + theirs.storage - arena.shared_offset;
      ours.lock = theirs.lock ? kFromHere + theirs.lock - arena.shared_offset : 0;
    }
  }
}

}  // namespace

Result<Layout> make_layout(const sema::Program& program, const LayoutOptions& options) {
  return make_part(program, options, Part::kAll);
}

bool is_mixed(const sema::Program& program) {
  return has_domain(program, sema::Domain::kTarget) && has_domain(program, sema::Domain::kKernel);
}

Result<MixedLayout> make_mixed_layout(const sema::Program& program, const LayoutOptions& options) {
  MixedLayout mixed;
  TRY(mixed.processes, make_part(program, options, Part::kProcesses));
  TRY(mixed.kernel, make_part(program, options, Part::kKernel, mixed.processes.arena.tables_offset));
  if (mixed.kernel.arena.tables_offset != mixed.processes.arena.tables_offset) {
    TRY(mixed.processes, make_part(program, options, Part::kProcesses, mixed.kernel.arena.tables_offset));
  }
  constexpr uint64_t kReach = uint64_t{1} << 32;  // of addresses in the arena of handlers in the kernel
  ArenaLayout& arena = mixed.processes.arena;
  if (arena.shared_size > abi::kLargestKernelShared) {
    return Error{"the globals that handlers in processes and in the kernel share need more than 1 GiB",
                 "make arrays smaller (global a[N], -D MAXMAPENTRIES=N)"};
  }
  arena.kernel_offset = align(arena.size, kReach) + abi::kKernelArenaBase;
  if (uint64_t processes = mixed.kernel.arena.processes_offset; processes != 0)
    arena.processes_offset = arena.kernel_offset + processes;
  place_elsewhere(program, mixed);
  return mixed;
}

}  // namespace spile::codegen
