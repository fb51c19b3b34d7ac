// Stacks of the kernel and, by the tables and the code that processes use (core/unwind.cpp), of the processes that handlers
// interrupt.
//
// The kernel's helper for its own stack writes to a map's memory, as helpers know no arena, and needs the program's own argument,
// which only bodies of handlers have: these copy it to the slot before anything asks for it (codegen/ebpf/arena_place.cpp).

#include "abi/stack_tables.h"
#include "runtime/core/core.h"

namespace spile::rt {

extern "C" {
extern char spile_map_frames, spile_map_copy;  // abi::kKernelFramesMap, abi::kKernelCopyMap
}

namespace {

// Returns the calling handler's memory in a map that has some for each level of each CPU.
SPILE_INLINE inline void* level_memory(Context* context, void* map) {
  uint32_t level = (static_cast<uint32_t>(slot_index_of(context->arena, context->slot)) - abi::kFirstSlot) % abi::kKernelLevels;
  return helper<void* (*)(void*, const void*)>(BPF_FUNC_map_lookup_elem)(map, &level);
}

SPILE_INLINE inline abi::ProcessMaps* process_maps(Context* context) {
  return reinterpret_cast<abi::ProcessMaps*>(bytes_of(context->arena) + uint64_t{spile_rt_processes_page} * abi::kPageSize);
}

SPILE_INLINE inline uint64_t current_process() { return visible_pid_tgid() >> 32; }

void want_process(Context* context) {
  abi::ProcessMaps* maps = process_maps(context);
  uint64_t number = __atomic_fetch_add(&maps->wanted_count, 1, __ATOMIC_RELAXED);
  store_relaxed(&maps->wanted[number % abi::kWantedProcesses], current_process());
}

// Whether the address is in a function by which the kernel calls handlers.
bool calls_handlers(const abi::KernelCodeTable* table, uint64_t address) {
  auto* ranges = reinterpret_cast<const abi::CodeRange*>(table + 1);
  uint64_t low = 0, high = table->range_count;
  while (low < high) {  // the first that ends behind the address
    uint64_t middle = (low + high) / 2;
    if (ranges[middle].end <= address) low = middle + 1;
    else high = middle;
  }
  return low < table->range_count && ranges[low].begin <= address;
}

// Returns how many frames come before that of the probed place: programs and what calls them, at a tracepoint.
SPILE_ARENA_ONLY [[gnu::noinline]] uint32_t tracing_frames(Context* context, uint32_t count) {
  auto* table = reinterpret_cast<const abi::KernelCodeTable*>(bytes_of(context->arena) +
                                                              uint64_t{spile_rt_kernel_code_page} * abi::kPageSize);
  auto* addresses = reinterpret_cast<const uint64_t*>(kernel_stack_of(context) + 1);
  uint32_t most = count < abi::kMostTracingFrames ? count : abi::kMostTracingFrames;
  bool any = false;
  for (uint32_t i = 0; i < most; ++i) {
    bool is_tracing = calls_handlers(table, addresses[i] - 1);
    if (any && !is_tracing) return i;
    any |= is_tracing;
  }
  return 0;
}

// What spile knows of the process that runs; null: nothing yet.
SPILE_ARENA_ONLY [[gnu::noinline]] const abi::ProcessMap* own_process(Context* context) {
  if (!spile_rt_processes_page) return nullptr;
  const uint64_t process = current_process();
  const abi::ProcessMaps* maps = process_maps(context);
  uint32_t place = abi::process_place(process);
  for (uint32_t step = 0; step < abi::kProcessSteps; ++step) {
    const abi::ProcessMap* entry = &maps->maps[(place + step) % abi::kProcessMaps];
    uint64_t found = load_acquire(&entry->process);
    if (found == process) return entry;
    if (!found) return nullptr;
  }
  return nullptr;
}

}  // namespace

uint64_t own_module_map(Context* context) {
  const abi::ProcessMap* entry = own_process(context);
  return entry ? load_acquire(&entry->module_map) : 0;
}

// The frames lie in the process's memory, which it can write to: what is found there is used as an address of code, and as
// nothing else.
SPILE_ARENA_ONLY [[gnu::noinline]] uint64_t pending_return_address(Context* context, uint64_t, int64_t, uint64_t stack_slot,
                                                                   uint64_t word) {
  const abi::ProcessMap* entry = own_process(context);
  uint64_t slot = entry ? load_acquire(&entry->slots) : 0;
  if (!slot) return word;
  const abi::ShadowPlaces& places = process_maps(context)->shadows;
  constexpr uint64_t kMostLooked = 1024;  // of slots and frames together: a handler in the kernel must be done soon
  uint64_t left = kMostLooked;
  for (uint64_t n = 0, end = places.slot_count; n < end && left > 0; ++n, --left, slot += places.slot_stride) {
    uint64_t owner, thread_pointer, depth;
    if (!load_word<8>(slot + offsetof(abi::ThreadSlot, owner), &owner)) break;
    // never used
    if (!owner && (!load_word<8>(slot + offsetof(abi::ThreadSlot, thread_pointer), &thread_pointer) || !thread_pointer)) break;
    if (owner >> 32 != entry->owner || !load_word<4>(slot + offsetof(abi::ThreadSlot, shadow_depth), &depth)) continue;
    if (depth > places.capacity) depth = places.capacity;
    for (uint64_t frame = slot + places.first + depth * places.stride; depth > 0 && left > 0; --depth, --left) {
      uint64_t place, address;
      frame -= places.stride;
      if (!load_word<8>(frame + offsetof(abi::ShadowFrame, stack_slot), &place)) break;
      if (place == stack_slot && load_word<8>(frame + offsetof(abi::ShadowFrame, return_address), &address)) return address;
    }
  }
  return word;
}

// The kernel keeps the registers where it was entered. A thread of its own has none: their place says that no 64-bit code ran.
SPILE_ARENA_ONLY [[gnu::noinline]] void find_user_registers(Context* context) {
  constexpr const abi::KernelLayout& kLayout = abi::kKernelLayout;
  constexpr const abi::Convention& kConvention = abi::kConvention;
  if (context->frame_kind != abi::kNoFrame) return;
  void* task = helper<void* (*)()>(BPF_FUNC_get_current_task_btf)();
  auto* registers = helper<const char* (*)(void*)>(BPF_FUNC_task_pt_regs)(task);
  if (*reinterpret_cast<const uint16_t*>(registers + kLayout.pt_regs_code) != kLayout.native_code) return;
  auto word = [&](uint8_t number) { return *reinterpret_cast<const uint64_t*>(registers + kLayout.pt_regs[number]); };
  context->user_pc = word(kConvention.program_counter);
  context->user_sp = word(kConvention.stack_pointer);
  context->user_fp = word(kConvention.frame_pointer);
  context->frame_kind = abi::kFrameInside;
}

SPILE_ARENA_ONLY [[gnu::noinline]] void note_cut_stack(Context* context) {
  want_process(context);
  __atomic_fetch_add(&process_maps(context)->cut_stacks, 1, __ATOMIC_RELAXED);
}

SPILE_ARENA_ONLY [[gnu::noinline]] bool send_user_stack(Context* context, uint32_t style) {
  constexpr uint64_t kPageWords = abi::kPageSize / 8, kMostWords = kPageWords * abi::kUserStackPages;
  want_process(context);
  auto* copy = static_cast<uint64_t*>(level_memory(context, &spile_map_copy));
  if (!copy) return false;
  const uint64_t begin = context->user_sp & ~uint64_t{abi::kPageSize - 1};
  using Read = long (*)(void*, uint32_t, uint64_t);
  uint64_t pages = 0;
  for (; pages < abi::kUserStackPages; ++pages) {
    const uint64_t page = opaque(pages);
    if (page >= abi::kUserStackPages) break;
    if (helper<Read>(BPF_FUNC_probe_read_user)(copy + page * kPageWords, abi::kPageSize, begin + page * abi::kPageSize) != 0)
      break;
  }
  const uint64_t first = (context->user_sp - begin) / 8, end = pages * kPageWords;
  const uint64_t count = end > first ? end - first : 0;
  char* record = spile_rt_record_begin(context, abi::kUserStack, style, static_cast<uint32_t>(8 * (4 + count)));
  if (!record) return true;  // counted
  char* at = spile_rt_record_put_long(record, static_cast<int64_t>(current_process()));
  at = spile_rt_record_put_long(at, static_cast<int64_t>(context->user_pc));
  at = spile_rt_record_put_long(at, static_cast<int64_t>(context->user_sp));
  at = spile_rt_record_put_long(at, static_cast<int64_t>(context->user_fp));
  auto* words = reinterpret_cast<uint64_t*>(at);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t from = opaque(first + i);
    if (from >= kMostWords) break;
    words[i] = copy[from];
  }
  spile_rt_record_end(context, record, at + 8 * count);
  return true;
}

extern "C" {

SPILE_INLINE void spile_rt_kernel_stack_forget(Context* context) { kernel_stack_of(context)->taken = 0; }

SPILE_INLINE bool spile_rt_kernel_stack(Context* context, void* program_context) {
  abi::KernelStack* stack = kernel_stack_of(context);
  if (stack->taken) return true;
  constexpr uint32_t kWord = sizeof(uint64_t);
  const uint64_t most = uint64_t{spile_rt_max_backtrace} + abi::kMostTracingFrames;
  auto* found = static_cast<uint64_t*>(level_memory(context, &spile_map_frames));
  if (!found) return false;
  using Get = long (*)(void*, void*, uint32_t, uint64_t);
  long bytes = helper<Get>(BPF_FUNC_get_stack)(program_context, found, static_cast<uint32_t>(most * kWord), 0);
  if (bytes < 0) return false;
  auto* addresses = reinterpret_cast<uint64_t*>(stack + 1);
  uint64_t count = static_cast<uint64_t>(bytes) / kWord;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = opaque(i);  // the check of the bound has to stay where the verifier sees it
    if (at >= most) break;
    addresses[at] = found[at];
  }
  stack->count = static_cast<uint32_t>(count);
  stack->first = tracing_frames(context, static_cast<uint32_t>(count));
  if (stack->count > stack->first + spile_rt_max_backtrace) stack->count = stack->first + spile_rt_max_backtrace;
  stack->taken = 1;
  return true;
}

}  // extern "C"

}  // namespace spile::rt
