// Walks a stack by the rules that the controller has prepared from the programs' own unwind information. The stack is
// read by loads that may fail; what is in the arena is taken as it is.
//
// A return address that is one of our trampolines' stands for the one in the thread's shadow stack (returns.cpp).

#include "runtime/native/unwind.h"

#include "abi/record.h"
#include "runtime/native/load.h"

namespace spile::rt {

namespace {

struct Walk {
  uint64_t pc, sp, fp;
  bool exact;         // pc is where the thread is, not a return address
  uint32_t shadow;    // how far down the shadow stack the walk has come
};

// ucontext_t, as the kernel puts it on the stack (arch/x86/include/uapi/asm/sigcontext.h).
inline constexpr uint64_t kUcontextRbp = 120, kUcontextRsp = 160, kUcontextRip = 168;

// mov $15, %rax; syscall: rt_sigreturn, to which signal handlers return.
SPILE_COLD bool is_sigreturn(uint64_t pc) {
  uint64_t first, last;
  return load_word<8>(pc, &first) && first == 0x0f0000000fc0c748 && load_word<1>(pc + 8, &last) && last == 0x05;
}

SPILE_INLINE inline abi::UnwindRule find_rule(Context* context, const abi::StackModule* module, uint64_t pc) {
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

bool step_out_of_signal(Walk* walk) {
  uint64_t pc, sp, fp;
  if (!load_word<8>(walk->sp + kUcontextRip, &pc) || !load_word<8>(walk->sp + kUcontextRsp, &sp) ||
      !load_word<8>(walk->sp + kUcontextRbp, &fp))
    return false;
  walk->pc = pc;
  walk->sp = sp;
  walk->fp = fp;
  walk->exact = true;
  return pc != 0;
}

// Without rules: code that keeps frame pointers (JITs, Go, hand-written assembly). Taken only where it leads into code.
SPILE_COLD bool step_by_frame_pointer(Context* context, Walk* walk) {
  uint64_t fp, word;
  if ((walk->fp & 7) || walk->fp < walk->sp || walk->fp - walk->sp > (8u << 20)) return false;
  if (!load_word<8>(walk->fp, &fp) || !load_word<8>(walk->fp + 8, &word)) return false;
  uint64_t pc = real_return_address(context->slot, walk->fp + 8, word, &walk->shadow);
  if (!pc || !find_module(context, pc - 1)) return false;
  walk->sp = walk->fp + 16;
  walk->fp = fp;
  walk->pc = pc;
  walk->exact = false;
  return true;
}

// To the caller at the canonical frame address. False: the stack can't be read, or leads nowhere.
SPILE_INLINE inline bool return_to(Context* context, Walk* walk, uint64_t cfa) {
  uint64_t word;
  if (cfa <= walk->sp && !walk->exact) return false;
  if (!load_word<8>(cfa - 8, &word)) return false;
  uint64_t pc = real_return_address(context->slot, cfa - 8, word, &walk->shadow);
  walk->pc = pc;
  walk->sp = cfa;
  walk->exact = false;
  return pc != 0;
}

bool step(Context* context, Walk* walk) {
  const abi::StackModule* module = find_module(context, walk->exact ? walk->pc : walk->pc - 1);
  abi::UnwindRule rule = {abi::kUnwindUnknown, abi::kFrameSame, 0, 0, 0};
  if (likely(module)) rule = find_rule(context, module, walk->exact ? walk->pc : walk->pc - 1);
  uint64_t cfa;
  switch (rule.kind) {
    case abi::kUnwindRsp:
      cfa = walk->sp + static_cast<uint64_t>(static_cast<int64_t>(rule.offset));
      break;
    case abi::kUnwindRbp:
      cfa = walk->fp + static_cast<uint64_t>(static_cast<int64_t>(rule.offset));
      break;
    case abi::kUnwindRspLoad:
    case abi::kUnwindRbpLoad: {
      uint64_t base = rule.kind == abi::kUnwindRspLoad ? walk->sp : walk->fp;
      if (!load_word<8>(base + static_cast<uint64_t>(static_cast<int64_t>(rule.offset)), &cfa)) return false;
      cfa += static_cast<uint64_t>(static_cast<int64_t>(rule.addend));
      break;
    }
    case abi::kUnwindPlt:
      cfa = walk->sp + 8 + ((walk->pc & 15) >= static_cast<uint64_t>(rule.offset) ? 8 : 0);
      break;
    case abi::kUnwindSignal:
      return step_out_of_signal(walk);
    case abi::kUnwindEnd:
      return false;
    default:
      if (!walk->exact && is_sigreturn(walk->pc)) return step_out_of_signal(walk);
      return step_by_frame_pointer(context, walk);
  }
  uint64_t fp = walk->fp;
  if (rule.frame != abi::kFrameSame) {
    uint64_t base = rule.frame == abi::kFrameAtCfa ? cfa : walk->fp;
    if (!load_word<8>(base + static_cast<uint64_t>(static_cast<int64_t>(rule.frame_offset)), &fp)) return false;
  }
  if (!return_to(context, walk, cfa)) return false;
  walk->fp = fp;
  return true;
}

}  // namespace

uint64_t module_map_offset(Context* context) {
  if (spile_rt_in_controller) return context->arena->controller_module_map;
  return load_acquire(&process_table()->module_map);
}

const abi::StackModule* find_module(Context* context, uint64_t address) {
  uint64_t offset = module_map_offset(context);
  if (!offset) return nullptr;
  const abi::ModuleMap* map = reinterpret_cast<const abi::ModuleMap*>(bytes_of(context->arena) + offset);
  const abi::StackModule* modules = reinterpret_cast<const abi::StackModule*>(map + 1);
  uint64_t low = 0, high = map->count;
  while (low < high) {  // the first that ends after the address
    uint64_t middle = (low + high) / 2;
    if (modules[middle].end <= address) low = middle + 1;
    else high = middle;
  }
  return low < map->count && modules[low].begin <= address ? &modules[low] : nullptr;
}

[[gnu::noinline]] uint32_t walk_stack(Context* context, uint64_t* addresses, uint32_t most) {
  if (spile_rt_in_controller || context->frame_kind == abi::kNoFrame || most == 0) return 0;
  Walk walk = {context->user_pc, context->user_sp, context->user_fp, true, ~0u};
  addresses[0] = walk.pc | abi::kExactAddress;
  uint32_t count = 1;
  // Nobody would catch a fault.
  if (controller_gone(context->arena)) return count;
  if (count < most && context->frame_kind == abi::kFrameEntry) {
    if (!return_to(context, &walk, walk.sp + 8)) return count;
    addresses[count++] = walk.pc;
  }
  while (count < most && step(context, &walk)) {
    addresses[count++] = walk.pc | (walk.exact ? abi::kExactAddress : 0);
  }
  return count;
}

}  // namespace spile::rt
