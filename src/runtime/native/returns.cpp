// Pending returns of call-in-place (abi/trampoline.h, abi/arena.h ShadowFrame): a stack of frames in the thread's slot.
//
// Mostly it is a stack: a frame is pushed at shadow_depth and popped from the top. But functions also end by longjmp,
// by an exception or not at all, and coroutines leave them in any order, on any thread. So a frame is found by its
// stack_slot, from the top, where the newest is, and one that is freed below the top becomes a hole (reserved = 1),
// which is dropped when it comes to be the top. A frame just taken has stack_slot 0 and is no hole: so a signal handler
// that comes in at that moment, and pushes and pops above it, leaves it alone.
//
// Two frames may share a stack slot: a probed function that tail-jumps to another one hands over its own stack slot, in
// which the second finds the first one's `returned`. The newer one returns first, so they are served from the top.
//
// When an unwinder starts, it has to find real return addresses: all are put back, and each frame remembers the
// `returned` address that it gave up (reserved). When it ends, by returning or by landing in a frame that catches or cleans
// up, the frames that are still on the stack get it again, and their returns are seen as if nothing had been; those that
// the exception has left are dropped. A cleanup that goes on unwinding (_Unwind_Resume) is an unwinder's start.
//
// Other controllers that probe the process have shadow stacks of their own, and their `returned` addresses may lie in the
// same stack slots, above or beneath ours. Each deals with what is its own; the engine calls all of them in turn, until
// nothing is left (SiteRequest::in_turn).
//
// Frames that never return (longjmp) stay until the stack is full, or the unwinder comes by; then whatever no longer lies
// on a stack is recognised by the word at stack_slot, which is no `returned` address any more. That is no missed return,
// unless an unwinder has put the address back and its end was not seen.

#include "runtime/native/load.h"
#include "runtime/native/native.h"

namespace spile::rt {

namespace {

using abi::ShadowFrame;
using abi::ThreadSlot;

inline constexpr uint64_t kHole = 1;
// Above the 47 bits of an address: how often a frame has waited for another controller's.
inline constexpr uint64_t kOneTurn = uint64_t{1} << 48, kMostTurns = 16 * kOneTurn;
inline constexpr uint64_t kLargestStack = uint64_t{1} << 30;  // no frame of the same stack is farther away

SPILE_INLINE inline ShadowFrame* frame_at(ThreadSlot* slot, uint64_t index) {
  return reinterpret_cast<ShadowFrame*>(bytes_of(slot) + spile_rt_shadow_offset + index * spile_rt_shadow_stride);
}
SPILE_INLINE inline uint64_t* saves_of(ShadowFrame* frame) {
  return reinterpret_cast<uint64_t*>(frame + 1);
}
SPILE_INLINE inline ShadowFrame* frame_of(uint64_t* saves) {
  return reinterpret_cast<ShadowFrame*>(saves) - 1;
}

enum class Returned { kNo, kOurs, kForeign };

// No `returned` address is a region's first byte: where a range's begin has kForeignRegion makes no difference.
// region: of a foreign one.
Returned whose_returned(uint64_t word, uint64_t* region = nullptr) {
  if (word >= spile_cells.returned_begin && word < spile_cells.returned_end) return Returned::kOurs;
  auto* list = reinterpret_cast<const abi::CodeRegionList*>(spile_cells.code_regions);
  if (!list) return Returned::kNo;
  uint64_t count = __atomic_load_n(&list->count, __ATOMIC_ACQUIRE);
  for (uint64_t n = 0; n < count && n < abi::kMaxCodeRegions; ++n) {
    uint64_t begin = list->ranges[n].begin;
    if (word < begin || word >= list->ranges[n].end) continue;
    if (!(begin & abi::kForeignRegion)) return Returned::kOurs;
    if (region) *region = begin & ~abi::kForeignRegion;
    return Returned::kForeign;
  }
  return Returned::kNo;
}

bool is_returned(uint64_t word) { return whose_returned(word) != Returned::kNo; }

bool is_pending(const ShadowFrame* frame) {
  uint64_t word;
  return load_word<8>(frame->stack_slot, &word) && is_returned(word);
}

}  // namespace

namespace {

// The calling thread's pending returns in another controller's arena, which may go at any time with its mapping.
struct ForeignReturns {
  uint64_t arena;
  uint64_t frames;  // address of the first
  uint64_t stride;
  uint64_t depth;   // of those not come by yet

  // region: any of that controller's. False: the thread has none there.
  [[gnu::noinline]] bool find(uint64_t region);
  // What the newest one at this stack slot will return to; 0: there is none. Older ones are next.
  uint64_t next(uint64_t stack_slot) {
    while (depth > 0) {
      uint64_t slot, address, frame = frames + --depth * stride;
      if (!load_word<8>(frame + offsetof(ShadowFrame, stack_slot), &slot)) return 0;
      if (slot != stack_slot) continue;
      return load_word<8>(frame + offsetof(ShadowFrame, return_address), &address) ? address : 0;
    }
    return 0;
  }
};

bool ForeignReturns::find(uint64_t region) {
  using Header = abi::RegionHeader;
  constexpr uint32_t kMostProbes = 256;
  uint64_t table, offset, capacity;
  if (!load_word<8>(region + offsetof(Header, arena), &arena) || !load_word<8>(region + offsetof(Header, process_table), &table) ||
      !load_word<8>(region + offsetof(Header, shadow_offset), &offset) ||
      !load_word<8>(region + offsetof(Header, shadow_stride), &stride) ||
      !load_word<8>(region + offsetof(Header, shadow_capacity), &capacity))
    return false;
  uint64_t base = fs_base(), index = abi::thread_table_index(base);
  for (uint32_t probe = 0; probe < kMostProbes; ++probe, index = (index + 1) & (abi::kThreadTableEntries - 1)) {
    uint64_t entry = table + offsetof(abi::ProcessTable, entries) + index * sizeof(abi::ThreadTableEntry), key, slot;
    if (!load_word<8>(entry + offsetof(abi::ThreadTableEntry, thread_pointer), &key) || key == 0) return false;
    if (key != abi::thread_table_key(base)) continue;
    if (!load_word<8>(entry + offsetof(abi::ThreadTableEntry, slot_offset), &slot)) return false;
    slot += arena;
    if (!load_word<4>(slot + offsetof(ThreadSlot, shadow_depth), &depth)) return false;
    if (depth > capacity) depth = capacity;
    frames = slot + offset;
    return true;
  }
  return false;
}

}  // namespace

// Of several controllers' frames at one stack slot, each one's address leads to the one beneath.
uint64_t real_return_address(ThreadSlot* slot, uint64_t stack_slot, uint64_t word, uint32_t* from) {
  constexpr uint32_t kMostOthers = 4;
  uint64_t region = 0;
  Returned whose = whose_returned(word, &region);
  if (whose == Returned::kNo) return word;
  uint32_t depth = slot->shadow_depth;
  if (depth > spile_rt_shadow_capacity) depth = spile_rt_shadow_capacity;
  if (*from < depth) depth = *from;
  ForeignReturns others[kMostOthers];
  uint32_t count = 0;
  for (; whose != Returned::kNo; whose = whose_returned(word, &region)) {
    if (whose == Returned::kOurs) {
      ShadowFrame* frame = nullptr;
      while (depth > 0 && !frame) {
        if (frame_at(slot, --depth)->stack_slot == stack_slot) frame = frame_at(slot, depth);
      }
      if (!frame) return 0;
      *from = depth;
      word = frame->return_address;
      continue;
    }
    uint64_t arena, known = 0;
    if (!load_word<8>(region + offsetof(abi::RegionHeader, arena), &arena)) return 0;
    while (known < count && others[known].arena != arena) ++known;
    if (known == count && (count == kMostOthers || !others[count++].find(region))) return 0;
    word = others[known].next(stack_slot);
  }
  return word;
}

namespace {

void drop_holes(ThreadSlot* slot) {
  while (slot->shadow_depth > 0) {
    ShadowFrame* top = frame_at(slot, slot->shadow_depth - 1);
    if (top->stack_slot || top->reserved != kHole) return;
    top->reserved = 0;
    --slot->shadow_depth;
  }
}

void make_hole(ShadowFrame* frame) {
  frame->stack_slot = 0;
  compiler_barrier();
  frame->reserved = kHole;
}

// Takes the frame at shadow_depth in one instruction, so that nested entries of a signal handler lie above it.
SPILE_INLINE inline uint32_t push_depth(ThreadSlot* slot) {
  uint32_t depth = 1;
  asm volatile("xaddl %0, %1" : "+r"(depth), "+m"(slot->shadow_depth) : : "cc", "memory");
  return depth;
}
SPILE_INLINE inline void pop_depth(ThreadSlot* slot) {
  asm volatile("decl %0" : "+m"(slot->shadow_depth) : : "cc", "memory");
}

// The stack is full: frees what is not pending any more. A frame that was free or has become so; null: all are pending.
SPILE_COLD ShadowFrame* sweep(ThreadSlot* slot) {
  ShadowFrame* found = nullptr;
  if (controller_gone(arena_header())) return nullptr;  // nobody would catch a fault
  for (uint32_t index = 0; index < spile_rt_shadow_capacity; ++index) {
    ShadowFrame* frame = frame_at(slot, index);
    if (frame->stack_slot && !is_pending(frame)) {
      bool given_up = frame->reserved > kHole;
      make_hole(frame);
      if (given_up) add_in_place(&slot->skipped[abi::kSkipUnwound], 1);
    }
    if (!found && !frame->stack_slot && frame->reserved == kHole) {
      frame->reserved = 0;
      found = frame;
    }
  }
  if (!found) count_skip(slot, abi::kSkipShadowFull);
  return found;
}

// By the header, not by constants: of those the optimiser makes one slot's address from another's, in which the checker does
// not see the arena's any more.
SPILE_INLINE inline ThreadSlot* slot_by_header(abi::ArenaHeader* header, uint64_t index) {
  return reinterpret_cast<ThreadSlot*>(bytes_of(header) + header->slots_offset + index * header->slot_stride);
}

// The function returned is not at the top: below it, or, if a coroutine has moved, on another thread's stack. Frames of
// this process come first: a forked child, whose stacks are copies, has the same addresses as its parent.
SPILE_COLD ShadowFrame* find_elsewhere(ThreadSlot* own, uint64_t stack_slot) {
  for (uint32_t index = own->shadow_depth; index-- > 0;) {
    if (index < spile_rt_shadow_capacity && frame_at(own, index)->stack_slot == stack_slot) return frame_at(own, index);
  }
  abi::ArenaHeader* header = arena_header();
  ShadowFrame* foreign = nullptr;
  for (uint64_t n = abi::kControllerSlot + 1; n + 1 < header->slot_count; ++n) {
    ThreadSlot* slot = slot_by_header(header, n);
    if (slot == own || !load_relaxed(&slot->owner)) continue;
    uint32_t depth = load_relaxed(&slot->shadow_depth);
    if (depth > spile_rt_shadow_capacity) depth = spile_rt_shadow_capacity;
    bool same_process = slot->owner >> 32 == own->owner >> 32;
    for (uint32_t index = depth; index-- > 0;) {
      ShadowFrame* frame = frame_at(slot, index);
      if (frame->stack_slot != stack_slot) continue;
      if (same_process) return frame;
      if (!foreign) foreign = frame;
    }
  }
  return foreign;
}

SPILE_INLINE inline ShadowFrame* find_frame(ThreadSlot* slot, uint64_t stack_slot) {
  uint32_t depth = slot->shadow_depth;
  if (likely(depth != 0)) {
    ShadowFrame* top = frame_at(slot, depth - 1);
    if (likely(top->stack_slot == stack_slot)) return top;
  }
  return find_elsewhere(slot, stack_slot);
}

// Frees a frame that is not the top of the caller's own stack.
SPILE_COLD void free_elsewhere(ThreadSlot* own, ShadowFrame* frame) {
  uint64_t offset = static_cast<uint64_t>(bytes_of(frame) - bytes_of(frame_at(own, 0)));
  if (offset < static_cast<uint64_t>(spile_rt_shadow_capacity) * spile_rt_shadow_stride) {
    make_hole(frame);
    drop_holes(own);
    return;
  }
  abi::ArenaHeader* header = arena_header();
  uint64_t index =
      static_cast<uint64_t>(bytes_of(frame) - bytes_of(header) - header->slots_offset) / header->slot_stride;
  // A frame of another process is its parent's, who still has to return by it.
  if (slot_by_header(header, index)->owner >> 32 == own->owner >> 32) make_hole(frame);
}

SPILE_COLD void drop_holes_below(ThreadSlot* slot) {
  drop_holes(slot);
}

// Frames in (left_from, left_to] have been left, which is no return.
SPILE_COLD void rewind(Context* context, uint64_t left_from, uint64_t left_to) {
  ThreadSlot* slot = context->slot;
  if (context->overflow || controller_gone(context->arena)) return;
  uint32_t depth = slot->shadow_depth;
  if (depth > spile_rt_shadow_capacity) depth = spile_rt_shadow_capacity;
  for (uint32_t index = 0; index < depth; ++index) {
    ShadowFrame* frame = frame_at(slot, index);
    if (!frame->stack_slot || frame->reserved <= kHole) continue;
    uint64_t word = 0;
    bool left = frame->stack_slot > left_from && frame->stack_slot <= left_to;
    bool readable = !left && load_word<8>(frame->stack_slot, &word);
    // The one beneath is another controller's, whose turn comes, if it is still there.
    if (readable && word != frame->return_address && frame->reserved < kMostTurns &&
        whose_returned(frame->return_address) == Returned::kForeign) {
      frame->reserved += kOneTurn;
      continue;
    }
    if (!readable || word != frame->return_address) {
      make_hole(frame);
      continue;
    }
    *reinterpret_cast<uint64_t*>(frame->stack_slot) = frame->reserved & (kOneTurn - 1);
    compiler_barrier();
    frame->reserved = 0;
  }
  drop_holes(slot);
}

}  // namespace

extern "C" {

SPILE_INLINE uint64_t* spile_rt_return_enter(Context* context, uint64_t cfa, uint64_t site_id) {
  ThreadSlot* slot = context->slot;
  uint64_t stack_slot = cfa - 8;
  if (unlikely(context->overflow)) {
    count_skip(slot, abi::kSkipNoSlot);
    return nullptr;
  }
  uint32_t index = push_depth(slot);
  ShadowFrame* frame = frame_at(slot, index);
  if (unlikely(index >= spile_rt_shadow_capacity)) {
    pop_depth(slot);
    frame = sweep(slot);
    if (!frame) return nullptr;
  }
  frame->return_address = *reinterpret_cast<uint64_t*>(stack_slot);
  frame->site_id = site_id;
  compiler_barrier();
  frame->stack_slot = stack_slot;
  return saves_of(frame);
}

SPILE_INLINE uint64_t* spile_rt_return_find(Context* context, uint64_t cfa) {
  ShadowFrame* frame = find_frame(context->slot, cfa - 8);
  // Without a frame the address to go on at is lost: a program that returns twice from one call. It would crash anyway.
  if (unlikely(!frame)) __builtin_trap();
  context->site_id = frame->site_id;
  return saves_of(frame);
}

SPILE_INLINE void spile_rt_return_exit(Context* context, uint64_t cfa, uint64_t* saves) {
  ThreadSlot* slot = context->slot;
  ShadowFrame* frame = frame_of(saves);
  *reinterpret_cast<uint64_t*>(cfa - 8) = frame->return_address;
  uint32_t depth = slot->shadow_depth;
  if (likely(depth != 0 && frame == frame_at(slot, depth - 1))) {
    frame->stack_slot = 0;
    compiler_barrier();
    slot->shadow_depth = depth - 1;
    ShadowFrame* below = frame_at(slot, depth - 2);
    if (unlikely(depth > 1 && below->reserved == kHole)) drop_holes_below(slot);
    return;
  }
  free_elsewhere(slot, frame);
}

[[gnu::noinline]] void spile_rt_unwind(Context* context) {
  ThreadSlot* slot = context->slot;
  if (context->overflow || controller_gone(context->arena)) return;
  uint32_t depth = slot->shadow_depth;
  if (depth > spile_rt_shadow_capacity) depth = spile_rt_shadow_capacity;
  // The newest first: where frames share a stack slot, each one's return address leads into the code of the one below.
  for (uint32_t index = depth; index-- > 0;) {
    ShadowFrame* frame = frame_at(slot, index);
    if (!frame->stack_slot || frame->reserved > kHole) continue;
    uint64_t present = 0;
    Returned whose = load_word<8>(frame->stack_slot, &present) ? whose_returned(present) : Returned::kNo;
    if (whose == Returned::kForeign) continue;  // above ours; our turn comes
    if (whose == Returned::kOurs) {
      frame->reserved = present;
      compiler_barrier();
      *reinterpret_cast<uint64_t*>(frame->stack_slot) = frame->return_address;
      continue;
    }
    make_hole(frame);
  }
  drop_holes(slot);
}

// Unwinders run on the stack that they unwind: what they leave lies between their frames and the landing.
[[gnu::noinline]] void spile_rt_rewind(Context* context, uint64_t landing) {
  rewind(context, reinterpret_cast<uint64_t>(__builtin_frame_address(0)), landing);
}

[[gnu::noinline]] void spile_rt_rewind_caught(Context* context) {
  uint64_t here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  rewind(context, here > kLargestStack ? here - kLargestStack : 0, here);
}

}  // extern "C"

}  // namespace spile::rt
