// Walks a stack by the rules that the controller has prepared from the programs' own unwind information. The stack is
// read by loads that may fail; what is in the arena is taken as it is.
//
// A return address that is one of our trampolines' stands for the one in the thread's shadow stack (returns.cpp).

#include "runtime/core/unwind.h"

#include "abi/machine.h"
#include "abi/record.h"
#include "runtime/core/core.h"

namespace spile::rt {

namespace {

inline constexpr uint32_t kMostUnknownFrames = 64;  // of a JIT, one after the other

struct Walk {
  uint64_t map;  // the process's ModuleMap
  uint64_t pc, sp, fp;
  bool exact;       // pc is where the thread is, not a return address
  uint32_t shadow;  // how far down the shadow stack the walk has come
};

// A word of the walked stack: the calling thread's own, or, in the controller, that of the handler's subject.
SPILE_INLINE inline bool load_stack(Context* context, uint64_t address, uint64_t* word) {
  if (!spile_rt_in_controller) return load_word<8>(address, word);
  const abi::Subject* subject = subject_of(context);
  if (!subject) return false;
  if (subject->stack_size >= 8 && address >= subject->stack_begin && address - subject->stack_begin <= subject->stack_size - 8) {
    const char* copy = reinterpret_cast<const char*>(controller_state(context)) - abi::kStrayPageSize - abi::kStackCopySize;
    copy_bytes(word, copy + (address - subject->stack_begin), 8);
    return true;
  }
  int64_t value = 0;
  bool read = spile_rt_load(context, address, 8, false, &value);
  *word = static_cast<uint64_t>(value);
  return read;
}

SPILE_INLINE inline uint64_t return_address(Context* context, Walk* walk, uint64_t stack_slot, uint64_t word) {
  if constexpr (kIsKernel) {
    if (!spile_rt_shadow_capacity || find_module(context, walk->map, word - 1)) return word;
    return pending_return_address(context, walk->map, 0, stack_slot, word);
  } else {
    const abi::Subject* subject = subject_of(context);
    if (!spile_rt_in_controller) return real_return_address(context->slot, stack_slot, word, &walk->shadow);
    return subject ? pending_return_address(context, walk->map, subject->pid, stack_slot, word) : word;
  }
}

// Whether signal handlers return to this code.
SPILE_COLD bool is_sigreturn(Context* context, uint64_t pc) {
  constexpr const abi::KernelLayout& kLayout = abi::kKernelLayout;
  uint64_t word;
  return load_stack(context, pc, &word) && word == kLayout.sigreturn_first &&
         load_stack(context, pc + kLayout.sigreturn_size - sizeof word, &word) && word == kLayout.sigreturn_last;
}

SPILE_APART inline abi::UnwindRule find_rule(Context* context, const abi::StackModule* module, uint64_t pc) {
  const abi::ModuleTable* table = table_of(context, module);
  uint64_t offset = pc - module->bias - table->text_begin;
  abi::UnwindRule none = {abi::kUnwindUnknown, abi::kFrameSame, 0, 0, 0};
  if (offset >= table->text_size || !table->row_count) return none;
  const uint32_t* pages = part_of<uint32_t>(table, table->pages);
  const uint32_t* pcs = part_of<uint32_t>(table, table->pcs);
  uint64_t page = offset >> abi::kTablePageShift;
  uint32_t low = pages[page], high = pages[page + 1];
  if (pcs[low] > offset) return none;
  while (low < high) {  // the last row at or before the offset
    uint32_t middle = low + (high - low + 1) / 2;
    if (pcs[middle] <= offset) low = middle;
    else high = middle - 1;
  }
  return part_of<abi::UnwindRule>(table, table->rules)[low];
}

SPILE_ARENA_ONLY SPILE_APART bool step_out_of_signal(Context* context, Walk* walk) {
  uint64_t pc, sp, fp;
  constexpr const abi::KernelLayout& kLayout = abi::kKernelLayout;
  if (!load_stack(context, walk->sp + kLayout.signal_program_counter, &pc) ||
      !load_stack(context, walk->sp + kLayout.signal_stack_pointer, &sp) ||
      !load_stack(context, walk->sp + kLayout.signal_frame_pointer, &fp))
    return false;
  walk->pc = pc;
  walk->sp = sp;
  walk->fp = fp;
  walk->exact = true;
  return pc != 0;
}

// Whether frame pointers lead from here, by way of code in no module (of a JIT), back into code of one: then they were frame
// pointers. Handlers in the kernel don't look: the verifier would follow each turn.
SPILE_ARENA_ONLY SPILE_COLD bool leads_into_code(Context* context, Walk walk) {
  if constexpr (kIsKernel) return false;
  for (uint32_t frame = 0; frame < kMostUnknownFrames; ++frame) {
    uint64_t fp, word;
    if ((walk.fp & 7) || walk.fp < walk.sp || walk.fp - walk.sp > (8u << 20)) return false;
    const uint64_t cfa = walk.fp - static_cast<uint64_t>(int64_t{abi::kConvention.saved_frame}), slot = return_slot_of(cfa);
    if (!load_stack(context, walk.fp, &fp) || !load_stack(context, slot, &word)) return false;
    const uint64_t pc = return_address(context, &walk, slot, word);
    if (!pc) return false;
    if (find_module(context, walk.map, pc - 1)) return true;
    walk.sp = cfa;
    walk.fp = fp;
  }
  return false;
}

// Without rules: code that keeps frame pointers (JITs, Go, hand-written assembly). Taken only where it leads into code.
SPILE_ARENA_ONLY SPILE_COLD bool step_by_frame_pointer(Context* context, Walk* walk) {
  uint64_t fp, word;
  if ((walk->fp & 7) || walk->fp < walk->sp || walk->fp - walk->sp > (8u << 20)) return false;
  const uint64_t cfa = walk->fp - static_cast<uint64_t>(int64_t{abi::kConvention.saved_frame}), slot = return_slot_of(cfa);
  if (!load_stack(context, walk->fp, &fp) || !load_stack(context, slot, &word)) return false;
  uint64_t pc = return_address(context, walk, slot, word);
  if (!pc) return false;
  if (!find_module(context, walk->map, pc - 1)) {
    Walk further = *walk;
    further.sp = cfa;
    further.fp = fp;
    if (!leads_into_code(context, further)) return false;
  }
  walk->sp = cfa;
  walk->fp = fp;
  walk->pc = pc;
  walk->exact = false;
  return true;
}

// To the caller at the canonical frame address. False: the stack can't be read, or leads nowhere.
SPILE_INLINE inline bool return_to(Context* context, Walk* walk, uint64_t cfa) {
  uint64_t word;
  if (cfa <= walk->sp && !walk->exact) return false;
  const uint64_t slot = return_slot_of(cfa);
  if (!load_stack(context, slot, &word)) return false;
  uint64_t pc = return_address(context, walk, slot, word);
  walk->pc = pc;
  walk->sp = cfa;
  walk->exact = false;
  return pc != 0;
}

SPILE_ARENA_ONLY SPILE_APART bool step(Context* context, Walk* walk, bool* cut) {
  const abi::StackModule* module = find_module(context, walk->map, walk->exact ? walk->pc : walk->pc - 1);
  abi::UnwindRule rule = {abi::kUnwindUnknown, abi::kFrameSame, 0, 0, 0};
  if (likely(module)) rule = find_rule(context, module, walk->exact ? walk->pc : walk->pc - 1);
  uint64_t cfa;
  switch (rule.kind) {
    case abi::kUnwindStack: cfa = walk->sp + static_cast<uint64_t>(static_cast<int64_t>(rule.offset)); break;
    case abi::kUnwindFrame: cfa = walk->fp + static_cast<uint64_t>(static_cast<int64_t>(rule.offset)); break;
    case abi::kUnwindStackLoad:
    case abi::kUnwindFrameLoad: {
      uint64_t base = rule.kind == abi::kUnwindStackLoad ? walk->sp : walk->fp;
      if (!load_stack(context, base + static_cast<uint64_t>(static_cast<int64_t>(rule.offset)), &cfa)) return false;
      cfa += static_cast<uint64_t>(static_cast<int64_t>(rule.addend));
      break;
    }
    case abi::kUnwindPlt: cfa = walk->sp + 8 + ((walk->pc & 15) >= static_cast<uint64_t>(rule.offset) ? 8 : 0); break;
    case abi::kUnwindSignal: return step_out_of_signal(context, walk);
    case abi::kUnwindEnd: return false;
    default:
      if (!walk->exact && is_sigreturn(context, walk->pc)) return step_out_of_signal(context, walk);
      if (step_by_frame_pointer(context, walk)) return true;
      if (!module) *cut = true;
      return false;
  }
  uint64_t fp = walk->fp;
  if (rule.frame != abi::kFrameSame) {
    uint64_t base = rule.frame == abi::kFrameAtCfa ? cfa : walk->fp;
    if (!load_stack(context, base + static_cast<uint64_t>(static_cast<int64_t>(rule.frame_offset)), &fp)) return false;
  }
  if (!return_to(context, walk, cfa)) return false;
  walk->fp = fp;
  return true;
}

}  // namespace

// Whatever stands in the arena, a search comes to an end.
static constexpr uint64_t kModuleCountMask = (1 << 20) - 1;

uint64_t module_map_offset(Context* context) {
  if (const abi::Subject* subject = subject_of(context)) return subject->module_map;
  if (spile_rt_in_controller) return controller_state(context)->module_map;
  return own_module_map(context);
}

SPILE_ARENA_ONLY const abi::StackModule* find_module(Context* context, uint64_t offset, uint64_t address) {
  if (!offset) return nullptr;
  const abi::ModuleMap* map = reinterpret_cast<const abi::ModuleMap*>(bytes_of(context->arena) + in_arena(offset));
  const abi::StackModule* modules = reinterpret_cast<const abi::StackModule*>(map + 1);
  const uint64_t count = load_relaxed(&map->count) & kModuleCountMask;
  uint64_t low = 0, high = count;
  while (low < high) {  // the first that ends after the address
    uint64_t middle = (low + high) / 2;
    if (modules[middle].end <= address) low = middle + 1;
    else high = middle;
  }
  return low < count && modules[low].begin <= address ? &modules[low] : nullptr;
}

extern "C" bool spile_rt_module_bias(Context* context, const char* path, const char* name, uint64_t* bias) {
  uint64_t offset = module_map_offset(context);
  if (!offset) return false;
  const abi::ModuleMap* map = reinterpret_cast<const abi::ModuleMap*>(bytes_of(context->arena) + in_arena(offset));
  const abi::StackModule* modules = reinterpret_cast<const abi::StackModule*>(map + 1);
  const uint64_t count = load_relaxed(&map->count) & kModuleCountMask;
  for (uint64_t i = 0; i < count; ++i) {
    const abi::ModuleTable* table = table_of(context, &modules[i]);
    const char* text = part_of<char>(table, table->text);
    // Names first: paths have much in common.
    if (spile_rt_string_compare(text + table->name, name) != 0 || spile_rt_string_compare(text + table->path, path) != 0)
      continue;
    *bias = modules[i].bias;
    return true;
  }
  return false;
}

SPILE_ARENA_ONLY [[gnu::noinline]] uint32_t walk_stack(Context* context, uint64_t* addresses, uint32_t most, bool* cut) {
  const abi::Subject* subject = subject_of(context);
  find_user_registers(context);
  uint64_t kind = subject ? subject->frame_kind : spile_rt_in_controller ? abi::kNoFrame : context->frame_kind;
  if (kind == abi::kNoFrame || most == 0) return 0;
  Walk walk = {module_map_offset(context), context->user_pc, context->user_sp, context->user_fp, true, ~0u};
  if (subject) {
    walk = {subject->module_map,
            subject->registers[abi::kConvention.program_counter],
            subject->registers[abi::kConvention.stack_pointer],
            subject->registers[abi::kConvention.frame_pointer],
            true,
            ~0u};
  }
  addresses[0] = walk.pc | abi::kExactAddress;
  uint32_t count = 1;
  // Nobody would catch a fault.
  if (!subject && controller_gone(context->arena)) return count;
  if (count < most && kind == abi::kFrameEntry) {
    if (!return_to(context, &walk, walk.sp + static_cast<uint64_t>(int64_t{abi::kConvention.entry_cfa}))) return count;
    addresses[count++] = walk.pc;
  }
  while (count < most && step(context, &walk, cut)) {
    addresses[count++] = walk.pc | (walk.exact ? abi::kExactAddress : 0);
  }
  return count;
}

SPILE_ARENA_ONLY [[gnu::noinline]] uint32_t walk_stack_from(Context* context, uint64_t pc, uint64_t sp, uint64_t fp,
                                                            uint64_t* addresses, uint32_t most, bool* cut) {
  const abi::Subject* subject = subject_of(context);
  if (most == 0 || (!subject && spile_rt_in_controller)) return 0;
  Walk walk = {module_map_offset(context), pc, sp, fp, true, ~0u};
  addresses[0] = pc | abi::kExactAddress;
  uint32_t count = 1;
  if (!subject && controller_gone(context->arena)) return count;
  while (count < most && step(context, &walk, cut)) {
    addresses[count++] = walk.pc | (walk.exact ? abi::kExactAddress : 0);
  }
  return count;
}

extern "C" uint32_t spile_rt_walk_stack(Context* context, uint64_t* addresses, uint32_t most) {
  bool cut = false;
  return walk_stack(context, addresses, most, &cut);
}

// The entry of the node for a return address; null: none.
static const uint64_t* find_caller(const uint64_t* node, uint64_t address) {
  uint64_t low = 0, high = node[0];
  while (low < high) {
    uint64_t middle = (low + high) / 2;
    const uint64_t* entry = node + 1 + 2 * middle;
    if (entry[0] == address) return entry;
    if (entry[0] < address) low = middle + 1;
    else high = middle;
  }
  return nullptr;
}

// sema::kMostCallers.
static constexpr uint32_t kMostCallers = 16;

extern "C" [[gnu::noinline]] bool spile_rt_called_from(Context* context, const uint64_t* callers, uint64_t bias) {
  uint64_t addresses[kMostCallers + 1];
  uint32_t most = static_cast<uint32_t>(callers[0]) + 1;
  if (most > kMostCallers + 1) return false;
  bool cut = false;
  uint32_t count = walk_stack(context, addresses, most, &cut);
  uint64_t node = 1;
  // What is no return address (a signal came) has kExactAddress, and is never found.
  for (uint32_t i = 1; i < count; ++i) {
    const uint64_t* entry = find_caller(callers + node, addresses[i] - bias);
    if (!entry) return false;
    node = entry[1];
    if (node == 0) return true;
  }
  return false;
}

}  // namespace spile::rt
