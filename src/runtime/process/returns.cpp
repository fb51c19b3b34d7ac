// Pending returns of call-in-place (abi/trampoline.h, abi/arena.h ShadowFrame): a stack of frames in the thread's slot.
//
// Mostly it is a stack: a frame is pushed at shadow_depth and popped from the top. But functions also end by longjmp,
// by an exception or not at all. So a frame is found by its stack_slot, from the top, where the newest is, and one that is
// freed below the top becomes a hole (reserved = 1), which is dropped when it comes to be the top. A frame that is being
// entered or left has stack_slot 0 and is not a hole: so a signal handler that comes in at that moment, and pushes and pops
// above it, leaves it alone.
//
// Coroutines leave frames in any order, on any thread. The first return that shows that the process has some moves the frames
// to a table of the process (spilled_returns.h), where one is found at once however many are pending; from then on all threads
// put their frames there (InheritedState::spills_returns), and what the stacks of other threads still have is taken from there
// when its return comes. A frame in the table is newer than one of the same stack slot in any stack.
//
// Two frames may share a stack slot: a probed function that tail-jumps to another one hands over its own stack slot, in
// which the second finds the first one's `returned`. The newer one returns first, so they are served from the top. Functions that
// hand it on and on (coroutines that resume one another, interpreters whose handlers do) leave room for the returns of others:
// kMostTailCalls wait at one stack slot, further ones are missed returns.
//
// When an unwinder starts, it has to find real return addresses: all are put back, and each frame remembers the
// `returned` address that it gave up (reserved). When it ends, by returning or by landing in a frame that catches or cleans
// up, the frames that are still on the stack get it again, and their returns are seen as if nothing had been; those that
// the exception has left are dropped. A cleanup that goes on unwinding (_Unwind_Resume) is an unwinder's start.
//
// Other controllers that probe the process have shadow stacks of their own, and their `returned` addresses may lie in the
// same stack slots, above or beneath ours. Each deals with what is its own; the engine calls all of them in turn, until
// nothing is left (SiteRequest::moves_returns).
//
// Once the controller has died, no frame is taken any more, and none is freed: a child that is forked then in a probed function
// finds its parent's frames as they were, however many of them the parent has returned by since. A return goes
// on at the real address at once, behind all frames of ours at that stack slot.
//
// Frames that never return (longjmp) stay until the stack is full, or the unwinder comes by; then whatever no longer lies
// on a stack is recognized by the word at stack_slot, which is no `returned` address any more. That is no missed return,
// unless an unwinder has put the address back and its end was not seen.

#include "runtime/core/core.h"
#include "runtime/core/unwind.h"
#include "runtime/process/spilled_returns.h"

namespace spile::rt {

namespace {

using abi::ShadowFrame;
using abi::ThreadSlot;

inline constexpr uint64_t kHole = 1;
// Above the 47 bits of an address: how often a frame has waited for another controller's.
inline constexpr uint64_t kOneTurn = uint64_t{1} << 48, kMostTurns = 16 * kOneTurn;
inline constexpr uint64_t kLargestStack = uint64_t{1} << 30;  // no frame of the same stack is farther away
// so much of a stack is looked through for spilled frames, if it does not end before
inline constexpr uint64_t kWalkedStack = 16 << 20;
inline constexpr uint64_t kNearFrames = 64 << 10;  // frames below another one, so near to it, may be of the same stack
inline constexpr uint32_t kMostPassed = 32;        // frames that a return may pass by before frames are spilled
inline constexpr uint64_t kEverywhere = ~uint64_t{0};
inline constexpr uint32_t kMostTailCalls = 1024;  // frames of one stack slot in a thread's stack of frames
inline constexpr uint32_t kSpillWait = 1024;      // calls, until what had no room is tried again

SPILE_INLINE inline ShadowFrame* frame_at(ThreadSlot* slot, uint64_t index) {
  return reinterpret_cast<ShadowFrame*>(bytes_of(slot) + spile_rt_shadow_offset + index * spile_rt_shadow_stride);
}
SPILE_INLINE inline uint64_t* saves_of(ShadowFrame* frame) { return reinterpret_cast<uint64_t*>(frame + 1); }
SPILE_INLINE inline ShadowFrame* frame_of(uint64_t* saves) { return reinterpret_cast<ShadowFrame*>(saves) - 1; }

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

// The number of the process whose thread has the slot. Of the overflow slot, that of the process that runs.
SPILE_INLINE inline uint64_t process_of(const ThreadSlot* own) {
  return load_relaxed(&own->shared) ? load_relaxed(&process_table()->pid) : own->owner >> 32;
}

bool is_pending(const ShadowFrame* frame) {
  uint64_t word;
  return load_word<8>(frame->stack_slot, &word) && is_returned(word);
}

SPILE_INLINE inline bool spills() { return load_to_compare(&process_table()->spills_returns) != 0; }

}  // namespace

bool is_returned(uint64_t word) { return whose_returned(word) != Returned::kNo; }

namespace {

// The calling thread's pending returns in another controller's arena, which may go at any time with its mapping.
struct ForeignReturns {
  uint64_t arena;
  uint64_t frames;  // address of the first
  uint64_t stride;
  uint64_t depth;    // of those not come by yet
  uint64_t spilled;  // address of the first SpilledFrame; 0: none are spilled
  uint64_t limit = kAnyOrder;

  uint64_t next_spilled(uint64_t stack_slot);

  // region: any of that controller's. False: the thread has none there.
  [[gnu::noinline]] bool find(uint64_t region);
  // What the newest one at this stack slot will return to; 0: absent. Older ones are next.
  uint64_t next(uint64_t stack_slot) {
    if (uint64_t address = spilled ? next_spilled(stack_slot) : 0) return address;
    while (depth > 0) {
      uint64_t slot, address, frame = frames + --depth * stride;
      if (!load_word<8>(frame + offsetof(ShadowFrame, stack_slot), &slot)) return 0;
      if (slot != stack_slot) continue;
      return load_word<8>(frame + offsetof(ShadowFrame, return_address), &address) ? address : 0;
    }
    return 0;
  }
};

uint64_t ForeignReturns::next_spilled(uint64_t stack_slot) {
  uint64_t count = abi::spilled_frames(stride), found = 0, order = 0;
  for (uint64_t home = abi::spilled_index(stack_slot, count), n = 0; n < abi::kSpilledWindow; ++n) {
    uint64_t frame = spilled + ((home + n) & (count - 1)) * stride, tag;
    if (!load_word<8>(frame + offsetof(SpilledFrame, tag), &tag)) return 0;
    if ((tag & abi::kSpilledKeyMask) != stack_slot || (tag & abi::kSpilledBusy)) continue;
    if (order_of(tag) >= limit || (found && order_of(tag) < order)) continue;
    order = order_of(tag);
    if (!load_word<8>(frame + offsetof(SpilledFrame, return_address), &found)) return 0;
  }
  if (found) limit = order;
  return found;
}

bool ForeignReturns::find(uint64_t region) {
  using Header = abi::RegionHeader;
  constexpr uint32_t kMostProbes = 256;
  uint64_t table, offset, capacity;
  if (!load_word<8>(region + offsetof(Header, arena), &arena) ||
      !load_word<8>(region + offsetof(Header, process_table), &table) ||
      !load_word<8>(region + offsetof(Header, shadow_offset), &offset) ||
      !load_word<8>(region + offsetof(Header, shadow_stride), &stride) ||
      !load_word<8>(region + offsetof(Header, shadow_capacity), &capacity))
    return false;
  uint64_t in_use = 0, spilled_at = table + abi::kInheritedOffset;
  bool known = capacity != 0 && stride >= sizeof(SpilledFrame) &&
               load_word<8>(spilled_at + offsetof(abi::InheritedState, spills_returns), &in_use);
  spilled = known && in_use ? spilled_at + sizeof(abi::InheritedState) : 0;
  depth = 0;
  uint64_t base = read_thread_pointer(), index = abi::thread_table_index(base);
  for (uint32_t probe = 0; probe < kMostProbes; ++probe, index = (index + 1) & (abi::kThreadTableEntries - 1)) {
    uint64_t entry = table + offsetof(abi::ProcessTable, entries) + index * sizeof(abi::ThreadTableEntry), key, slot;
    if (!load_word<8>(entry + offsetof(abi::ThreadTableEntry, thread_pointer), &key) || key == 0) return spilled != 0;
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
  uint64_t limit = kAnyOrder;
  for (; whose != Returned::kNo; whose = whose_returned(word, &region)) {
    if (whose == Returned::kOurs) {
      if (const SpilledFrame* spilled = spills() ? find_spilled(stack_slot, limit) : nullptr) {
        limit = order_of(spilled->tag);
        word = spilled->return_address;
        continue;
      }
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

void note_given_up(ThreadSlot* slot, SpilledFrame* frame, uint64_t returned) {
  frame->reserved = returned;
  frame->next = static_cast<uint16_t>(slot->given_up);
  compiler_barrier();
  slot->given_up = static_cast<uint32_t>(place_of(frame) + 1);
}

// Takes the frame at shadow_depth in one instruction, so that nested entries of a signal handler lie above it.
SPILE_INLINE inline uint32_t push_depth(ThreadSlot* slot) { return fetch_and_increment(&slot->shadow_depth); }
SPILE_INLINE inline void pop_depth(ThreadSlot* slot) { decrement_in_place(&slot->shadow_depth); }

// Moves all pending frames of the thread's stack to the process's table, the newest first: of those at one stack slot the
// older ones go beneath. Other threads may take frames meanwhile, which coroutines have carried to them; a signal handler may
// come in, whose returns find every frame in one place or the other.
void spill(ThreadSlot* slot) {
  if (slot->spilling) return;
  if (slot->spill_wait) {
    --slot->spill_wait;
    return;
  }
  slot->spilling = 1;
  compiler_barrier();
  uint32_t depth = slot->shadow_depth;
  if (depth > spile_rt_shadow_capacity) depth = spile_rt_shadow_capacity;
  bool all = true;
  for (uint32_t index = depth; all && index-- > 0;) {
    ShadowFrame* frame = frame_at(slot, index);
    uint64_t stack_slot = load_acquire(&frame->stack_slot);
    if (!stack_slot) continue;
    bool stale = false;
    SpilledFrame* to = claim_spilled_beneath(slot, stack_slot, frame->return_address, frame->site_id, &stale);
    all = to || stale;
    if (to) {
      copy_bytes(to + 1, frame + 1, spile_rt_shadow_stride - sizeof(ShadowFrame));
      if (frame->reserved > kHole) note_given_up(slot, to, frame->reserved);
      publish_spilled(to);
    }
    if (!all) break;
    if (compare_and_swap(&frame->stack_slot, stack_slot, uint64_t{0})) frame->reserved = kHole;
    else if (to) free_spilled(to);  // it has been left in between
  }
  drop_holes(slot);
  compiler_barrier();
  slot->spilling = 0;
  if (!all) slot->spill_wait = kSpillWait;
}

void begin_spilling(ThreadSlot* slot) {
  store_relaxed(&inherited_state()->spills_returns, uint64_t{1});
  store_relaxed(&process_table()->spills_returns, 1u);
  spill(slot);
}

// The index of a free frame on top of the thread's stack. False: the stack has `most` frames, or none may be taken.
SPILE_INLINE inline bool push_own(ThreadSlot* slot, uint32_t* index, uint32_t most) {
  if (unlikely(spills())) return false;
  *index = push_depth(slot);
  if (likely(*index < most)) return true;
  pop_depth(slot);
  return false;
}
// The same for entries that are inlined: deep stacks are looked at more closely, out of line.
SPILE_INLINE inline bool push_own(ThreadSlot* slot, uint32_t* index) {
  return push_own(slot, index, spile_rt_shadow_capacity < kMostTailCalls ? spile_rt_shadow_capacity : kMostTailCalls);
}
// Frames of one stack slot lie together.
bool has_most_tail_calls(ThreadSlot* slot, uint64_t stack_slot) {
  uint32_t depth = slot->shadow_depth;
  if (depth < kMostTailCalls || depth > spile_rt_shadow_capacity) return false;
  return frame_at(slot, depth - kMostTailCalls)->stack_slot == stack_slot;
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
  return found;
}

// By the header, not by constants: of those the optimizer makes one slot's address from another's, in which the checker does
// not see the arena's any more.
SPILE_INLINE inline ThreadSlot* slot_by_header(abi::ArenaHeader* header, uint64_t index) {
  return reinterpret_cast<ThreadSlot*>(bytes_of(header) + header->slots_offset + index * header->slot_stride);
}

// Where frames are spilled, mostly: the slot's place is free, and nothing of the same slot is elsewhere.
SPILE_INLINE inline uint64_t* enter_quickly(ThreadSlot* slot, uint64_t stack_slot, uint64_t site_id, bool complete) {
  SpilledFrame* frame = spilled_at(spilled_place(stack_slot));
  bool apart = (stack_slot & ~abi::kSpilledKeyMask) == 0 && slot->shadow_depth == 0 && load_relaxed(&frame->reach) == 0;
  uint64_t tag = stack_slot | abi::kSpilledFirst | abi::kSpilledBusy;
  if (unlikely(!apart) || !compare_and_swap(&frame->tag, uint64_t{0}, tag)) return nullptr;
  frame->return_address = *reinterpret_cast<uint64_t*>(stack_slot);
  frame->site_id = static_cast<uint32_t>(site_id);
  frame->reserved = 0;
  if (complete) store_release(&frame->tag, tag & ~abi::kSpilledBusy);
  return reinterpret_cast<uint64_t*>(frame + 1);
}

// complete: nothing will be saved in it.
SPILE_INLINE inline uint64_t* fill(ShadowFrame* frame, uint64_t stack_slot, uint64_t site_id, bool complete) {
  frame->return_address = *reinterpret_cast<uint64_t*>(stack_slot);
  frame->site_id = site_id;
  compiler_barrier();
  if (complete) frame->stack_slot = stack_slot;
  return saves_of(frame);
}

// Where frames are spilled, or the stack is full. The overflow slot has no stack, in which its threads would mix up their frames.
SPILE_COLD uint64_t* enter_slowly(ThreadSlot* slot, uint64_t stack_slot, uint64_t site_id, bool complete) {
  uint64_t return_address = *reinterpret_cast<uint64_t*>(stack_slot);
  if (!spills()) begin_spilling(slot);
  else if (slot->shadow_depth) spill(slot);
  if (SpilledFrame* frame = claim_spilled(slot, stack_slot, return_address, site_id)) {
    if (complete) publish_spilled(frame);
    return reinterpret_cast<uint64_t*>(frame + 1);
  }
  // None in a stack is newer than one in the table.
  bool has_stack = !load_relaxed(&slot->shared) && !find_spilled(stack_slot, kAnyOrder);
  uint32_t index = has_stack ? push_depth(slot) : spile_rt_shadow_capacity;
  if (index >= spile_rt_shadow_capacity) {
    if (slot->shadow_depth > spile_rt_shadow_capacity) pop_depth(slot);
    count_skip(slot, abi::kSkipShadowFull);
    return nullptr;
  }
  return fill(frame_at(slot, index), stack_slot, site_id, complete);
}

SPILE_COLD uint64_t* enter_elsewhere(ThreadSlot* slot, uint64_t stack_slot, uint64_t site_id, bool complete) {
  uint32_t index;
  if (spills()) {
    if (uint64_t* saves = enter_quickly(slot, stack_slot, site_id, complete)) return saves;
  } else if (has_most_tail_calls(slot, stack_slot)) {
    count_skip(slot, abi::kSkipShadowFull);
    return nullptr;
  } else if (!load_relaxed(&slot->shared) && push_own(slot, &index, spile_rt_shadow_capacity)) {
    return fill(frame_at(slot, index), stack_slot, site_id, complete);
  } else if (ShadowFrame* swept = load_relaxed(&slot->shared) ? nullptr : sweep(slot)) {
    return fill(swept, stack_slot, site_id, complete);
  }
  return enter_slowly(slot, stack_slot, site_id, complete);
}
// Functions of their own, since a call of few arguments leaves entries that don't come here more registers.
SPILE_COLD uint64_t* enter_elsewhere_later(ThreadSlot* slot, uint64_t stack_slot, uint64_t site_id) {
  return enter_elsewhere(slot, stack_slot, site_id, false);
}
SPILE_COLD bool push_elsewhere(ThreadSlot* slot, uint64_t stack_slot, uint64_t site_id) {
  return enter_elsewhere(slot, stack_slot, site_id, true) != nullptr;
}

// Where frames are spilled, mostly: the frame is where it belongs, alone.
SPILE_COLD ShadowFrame* find_quickly(uint64_t stack_slot) {
  SpilledFrame* frame = spilled_at(spilled_place(stack_slot));
  uint64_t tag = load_acquire(&frame->tag);
  if ((tag & (abi::kSpilledKeyMask | abi::kSpilledBusy | abi::kSpilledNewer)) != stack_slot) return nullptr;
  store_relaxed(&frame->tag, tag | abi::kSpilledBusy);
  return reinterpret_cast<ShadowFrame*>(frame);
}

ShadowFrame* take_spilled(uint64_t stack_slot) {
  SpilledFrame* frame = find_spilled(stack_slot, kAnyOrder);
  if (!frame) return nullptr;
  store_relaxed(&frame->tag, frame->tag | abi::kSpilledBusy);
  return reinterpret_cast<ShadowFrame*>(frame);
}

// Of the frames above the one that is left, those of functions that longjmp has left are dropped. Others show that the
// program switches stacks.
void look_above(ThreadSlot* slot, uint32_t index, uint64_t stack_slot) {
  uint32_t depth = slot->shadow_depth;
  if (depth > spile_rt_shadow_capacity) depth = spile_rt_shadow_capacity;
  bool switches = depth - index > kMostPassed;
  if (controller_gone(arena_header())) return;  // nobody would catch a fault
  for (uint32_t above = index + 1; !switches && above < depth; ++above) {
    ShadowFrame* frame = frame_at(slot, above);
    if (!frame->stack_slot || frame->reserved > kHole) continue;
    bool near = stack_slot - frame->stack_slot < kNearFrames;
    bool pending = is_pending(frame);
    if (near && !pending) make_hole(frame);
    switches = !near && pending;
  }
  if (switches) begin_spilling(slot);
}

ShadowFrame* take_own(ThreadSlot* own, uint64_t stack_slot) {
  uint32_t depth = own->shadow_depth;
  if (depth > spile_rt_shadow_capacity) depth = spile_rt_shadow_capacity;
  for (uint32_t index = depth; index-- > 0;) {
    ShadowFrame* frame = frame_at(own, index);
    if (frame->stack_slot != stack_slot) continue;
    frame->stack_slot = 0;
    compiler_barrier();
    look_above(own, index, stack_slot);
    return frame;
  }
  return nullptr;
}

// In the stacks of other threads of this process, or of another one, which keeps it: a forked child, whose stacks are copies, has
// the same addresses as its parent.
ShadowFrame* take_from_others(ThreadSlot* own, uint64_t stack_slot, bool of_process) {
  abi::ArenaHeader* header = arena_header();
  for (uint64_t n = abi::kFirstSlot, end = slots_end(); n < end; ++n) {
    ThreadSlot* slot = slot_by_header(header, n);
    uint64_t owner = load_relaxed(&slot->owner);
    if (slot == own || !owner || (owner >> 32 == process_of(own)) != of_process) continue;
    uint32_t depth = load_relaxed(&slot->shadow_depth);
    if (depth > spile_rt_shadow_capacity) depth = spile_rt_shadow_capacity;
    for (uint32_t index = depth; index-- > 0;) {
      ShadowFrame* frame = frame_at(slot, index);
      if (load_relaxed(&frame->stack_slot) != stack_slot) continue;
      if (!of_process || compare_and_swap(&frame->stack_slot, stack_slot, uint64_t{0})) return frame;
    }
  }
  return nullptr;
}

// The function returned is not at the top: its frame is spilled, or below, or, if a coroutine has moved, in another thread's
// stack. That thread may spill it right now, but then it is in the table before it leaves the stack.
SPILE_COLD ShadowFrame* find_elsewhere(ThreadSlot* own, uint64_t stack_slot) {
  bool spilled = load_relaxed(&inherited_state()->spills_returns) != 0;
  if (ShadowFrame* frame = spilled ? take_spilled(stack_slot) : nullptr) return frame;
  if (ShadowFrame* frame = take_own(own, stack_slot)) return frame;
  if (ShadowFrame* frame = take_from_others(own, stack_slot, true)) {
    begin_spilling(own);
    return frame;
  }
  if (ShadowFrame* frame = take_spilled(stack_slot)) return frame;
  return take_from_others(own, stack_slot, false);
}

// The address of a word of a stack, made from that of the stack that runs: what is stored to by it is seen not to be just any
// address (engine's checker of handlers).
SPILE_INLINE inline uint64_t* stack_word(uint64_t address) {
  char* here = opaque(static_cast<char*>(__builtin_frame_address(0)));
  int64_t distance = static_cast<int64_t>(address - reinterpret_cast<uint64_t>(here));
  return reinterpret_cast<uint64_t*>(here + opaque(distance));
}

// -- when the controller has died

// Calls `visit` with the pending frames of the stack slot, the newest first, until it returns false. Those of this process, or of
// the one that has forked it: a thread that was forked has its parent's thread pointer.
template <typename Visit>
void visit_abandoned(uint64_t stack_slot, Visit visit) {
  uint64_t limit = kAnyOrder;
  while (SpilledFrame* spilled = find_spilled(stack_slot, limit)) {
    limit = order_of(spilled->tag);
    if (!visit(reinterpret_cast<ShadowFrame*>(spilled))) return;
  }
  abi::ArenaHeader* header = arena_header();
  uint64_t process = load_relaxed(&inherited_state()->process), key = abi::thread_table_key(read_thread_pointer());
  for (bool is_own = true;; is_own = false) {
    for (uint64_t n = abi::kFirstSlot, end = slots_end(); n < end; ++n) {
      ThreadSlot* slot = slot_by_header(header, n);
      uint64_t owner = load_relaxed(&slot->owner);
      if (!owner || owner >> 32 != process || (load_relaxed(&slot->thread_pointer) == key) != is_own) continue;
      uint32_t depth = load_relaxed(&slot->shadow_depth);
      if (depth > spile_rt_shadow_capacity) depth = spile_rt_shadow_capacity;
      for (uint32_t index = depth; index-- > 0;) {
        ShadowFrame* frame = frame_at(slot, index);
        if (load_relaxed(&frame->stack_slot) == stack_slot && !visit(frame)) return;
      }
    }
    if (!is_own) return;
  }
}

// Returns where the function whose return address lies there goes on behind all of our frames of that stack slot; 0: it has none.
uint64_t abandoned_return_address(uint64_t stack_slot) {
  uint64_t word = 0;
  visit_abandoned(stack_slot, [&](const ShadowFrame* frame) {
    word = frame->return_address;
    return whose_returned(word) == Returned::kOurs;
  });
  return whose_returned(word) == Returned::kOurs ? 0 : word;
}

SPILE_COLD void leave_abandoned(uint64_t* stack_slot) {
  uint64_t address = abandoned_return_address(reinterpret_cast<uint64_t>(stack_slot));
  if (!address) __builtin_trap();  // lost, as in find_claimed
  *stack_slot = address;
}

SPILE_COLD ShadowFrame* find_abandoned(uint64_t stack_slot) {
  ShadowFrame* found = nullptr;
  visit_abandoned(stack_slot, [&](ShadowFrame* frame) {
    found = frame;
    return false;
  });
  return found;
}

// pending: as in Context.
SPILE_INLINE inline ShadowFrame* find_frame(ThreadSlot* slot, uint64_t stack_slot, uint32_t* pending) {
  if (controller_gone(arena_header())) {
    *pending = abi::kAbandoned;
    return find_abandoned(stack_slot);
  }
  uint32_t depth = *pending = slot->shadow_depth;
  if (likely(depth != 0)) {
    ShadowFrame* top = frame_at(slot, depth - 1);
    if (likely(top->stack_slot == stack_slot)) {
      top->stack_slot = 0;
      compiler_barrier();
      return top;
    }
  }
  *pending = abi::kNoDepth;
  if (spills()) {
    if (ShadowFrame* spilled = find_quickly(stack_slot)) return spilled;
  }
  return find_elsewhere(slot, stack_slot);
}

// The frame that an exit has taken, which the engine has taken the thread out of (engine's SignalStops): it runs once more.
// Without a frame the address to go on at is lost: a program that returns twice from one call. It would crash anyway.
SPILE_COLD ShadowFrame* find_claimed(ThreadSlot* slot, uint32_t* pending) {
  const uint32_t depth = slot->shadow_depth;
  if (depth == 0 || depth > spile_rt_shadow_capacity) __builtin_trap();
  ShadowFrame* top = frame_at(slot, depth - 1);
  if (top->stack_slot != 0 || top->reserved == kHole) __builtin_trap();
  *pending = depth;
  return top;
}

// The frame's address, made anew from that of the memory that it is in: what is stored to by it is seen to be ours, however many
// ways it has come by (engine's checker of handlers).
template <typename Frame>
SPILE_INLINE inline Frame* within(const void* memory, uint64_t distance) {
  return reinterpret_cast<Frame*>(bytes_of(memory) + opaque(distance));
}
SPILE_INLINE inline uint64_t distance_from(const void* memory, const ShadowFrame* frame) {
  return static_cast<uint64_t>(bytes_of(frame) - bytes_of(memory));
}

// Frees a frame that is not the top of the caller's own stack.
SPILE_COLD void free_elsewhere(ThreadSlot* own, const ShadowFrame* frame) {
  uint64_t distance = distance_from(frame_at(own, 0), frame);
  if (distance < static_cast<uint64_t>(spile_rt_shadow_capacity) * spile_rt_shadow_stride) {
    make_hole(within<ShadowFrame>(frame_at(own, 0), distance));
    drop_holes(own);
    return;
  }
  abi::ArenaHeader* header = arena_header();
  distance = distance_from(header, frame);
  uint64_t index = (distance - header->slots_offset) / header->slot_stride;
  // A frame of another process is its parent's, who still has to return by it.
  if (index < slots_end() && slot_by_header(header, index)->owner >> 32 == process_of(own))
    make_hole(within<ShadowFrame>(header, distance));
}

SPILE_COLD void drop_holes_below(ThreadSlot* slot) { drop_holes(slot); }

// What of the stack is the handler's that runs, and its trampoline's. The code that it is called from is ours as well, so that a
// return address of its own would be taken for a `returned` address, where a function that longjmp has left had its frame.
struct HandlerStack {
  uint64_t lowest, end;  // end: the lowest address that is the program's

  // here: the frame of the runtime's function that the handler calls, which calls others in turn.
  HandlerStack(uint64_t here, uint64_t program) : lowest(here - kCalled), end(program & ~uint64_t{7}) {}
  bool has(uint64_t address) const { return address >= lowest && address < end; }

 private:
  static constexpr uint64_t kCalled = 2 << 10;
};

enum class Rewound { kWaits, kLeft, kPending };

// Of a frame whose address an unwinder was given. Frames in (left_from, left_to] have been left, which is not a return.
Rewound rewind_frame(uint64_t stack_slot, uint64_t return_address, uint64_t* reserved, uint64_t left_from, uint64_t left_to,
                     const HandlerStack& own) {
  uint64_t word = 0;
  bool left = stack_slot > left_from && stack_slot <= left_to;
  if (left) return Rewound::kLeft;
  if (own.has(stack_slot)) return Rewound::kWaits;
  if (!load_word<8>(stack_slot, &word)) return Rewound::kLeft;
  if (word != return_address) {
    // The one beneath is another controller's, whose turn comes, if it is still there.
    bool waits = *reserved < kMostTurns && whose_returned(return_address) == Returned::kForeign;
    if (waits) *reserved += kOneTurn;
    return waits ? Rewound::kWaits : Rewound::kLeft;
  }
  // The stack may be another thread's by now, which has left the frame: the word is written only if it is still this one.
  bool put = compare_and_swap(stack_word(stack_slot), word, *reserved & (kOneTurn - 1));
  return put ? Rewound::kPending : Rewound::kLeft;
}

void rewind_spilled(ThreadSlot* slot, uint64_t left_from, uint64_t left_to, uint64_t below, const HandlerStack& own) {
  uint32_t link = slot->given_up;
  slot->given_up = 0;
  for (uint64_t most = abi::spilled_frames(spile_rt_shadow_stride); link && most > 0; --most) {
    SpilledFrame* frame = spilled_at(link - 1);
    uint32_t next = frame->next;
    uint64_t tag = load_acquire(&frame->tag);
    if (tag && !(tag & abi::kSpilledBusy) && frame->reserved && (tag & abi::kSpilledKeyMask) >= below) {
      note_given_up(slot, frame, frame->reserved);
    } else if (tag && !(tag & abi::kSpilledBusy) && frame->reserved) {
      Rewound result = rewind_frame(tag & abi::kSpilledKeyMask, frame->return_address, &frame->reserved, left_from, left_to, own);
      if (result == Rewound::kWaits) note_given_up(slot, frame, frame->reserved);
      if (result == Rewound::kLeft) compare_and_swap(&frame->tag, tag, uint64_t{0});
      if (result == Rewound::kPending) frame->reserved = 0;
    }
    link = next;
  }
}

// The oldest first: where frames share a stack slot, each one's return address leads into the code of the one below. Of frames
// whose stack slot is below `below`.
SPILE_COLD void rewind(Context* context, uint64_t left_from, uint64_t left_to, uint64_t below, const HandlerStack& own) {
  ThreadSlot* slot = context->slot;
  if (context->overflow || controller_gone(context->arena)) return;
  uint32_t depth = slot->shadow_depth;
  if (depth > spile_rt_shadow_capacity) depth = spile_rt_shadow_capacity;
  for (uint32_t index = 0; index < depth; ++index) {
    ShadowFrame* frame = frame_at(slot, index);
    if (!frame->stack_slot || frame->reserved <= kHole || frame->stack_slot >= below) continue;
    Rewound result = rewind_frame(frame->stack_slot, frame->return_address, &frame->reserved, left_from, left_to, own);
    if (result == Rewound::kLeft) make_hole(frame);
    if (result == Rewound::kPending) frame->reserved = 0;
  }
  drop_holes(slot);
  if (slot->given_up) rewind_spilled(slot, left_from, left_to, below, own);
}

// How far the stack reaches that this thread runs on; 0: not known. A thread's control block lies at the end of its stack (the
// psABI's variant II of thread-local storage, as C libraries place it), but for the first one's, whose stack the kernel has made.
uint64_t end_of_stack(uint64_t here) {
  auto reaches = [here](uint64_t end) { return end > here && end - here < kLargestStack; };
  if (uint64_t end = read_thread_pointer(); reaches(end)) return end;
  uint64_t end = load_relaxed(&inherited_state()->first_stack_end);
  return reaches(end) ? end : 0;
}

// Moves the newest frame of this stack slot from another thread's stack of frames to the process's table, and returns it. Null:
// no other thread has one, or the table has no room.
SpilledFrame* spill_from_others(ThreadSlot* own, uint64_t stack_slot) {
  ShadowFrame* from = take_from_others(own, stack_slot, true);
  if (!from) return find_spilled(stack_slot, kAnyOrder);  // its thread may just have spilled it
  bool stale = false;
  SpilledFrame* to = claim_spilled_beneath(own, stack_slot, from->return_address, from->site_id, &stale);
  if (to) {
    copy_bytes(to + 1, from + 1, spile_rt_shadow_stride - sizeof(ShadowFrame));
    publish_spilled(to);
  }
  abi::ArenaHeader* header = arena_header();
  auto* left = within<ShadowFrame>(header, distance_from(header, from));
  if (to || stale) make_hole(left);
  else store_release(&left->stack_slot, stack_slot);  // no room: it stays where it was
  return to;
}

// Whether another thread's stack of frames has some that may lie on the stack that runs here: a user-level thread was carried to
// this thread, and no return has shown that yet. Near its end the stack is the thread's own.
bool others_may_have(ThreadSlot* own, uint64_t here) {
  constexpr uint64_t kLeastStack = 64 << 10;
  if (uint64_t end = end_of_stack(here); end && end - here < kLeastStack) return false;
  abi::ArenaHeader* header = arena_header();
  for (uint64_t n = abi::kFirstSlot, slots = slots_end(); n < slots; ++n) {
    ThreadSlot* slot = slot_by_header(header, n);
    uint64_t owner = load_relaxed(&slot->owner);
    if (slot == own || !owner || owner >> 32 != process_of(own)) continue;
    uint32_t depth = load_relaxed(&slot->shadow_depth);
    if (depth > spile_rt_shadow_capacity) depth = spile_rt_shadow_capacity;
    for (uint32_t index = 0; index < depth; ++index) {
      if (load_relaxed(&frame_at(slot, index)->stack_slot) - here < kWalkedStack) return true;
    }
  }
  return false;
}

// Gives an unwinder the real return addresses of frames on the stack that it runs on which are not in its thread's: from here up
// to its end. What lies behind may be another stack, whose frames are pending again when the unwinder ends. for_good: the thread
// has no slot of its own, in which its walk could be noted. Its frames stay in the table until others need their places, since
// what looks like a pending one may be one that is just being left.
SPILE_COLD void give_up_spilled(ThreadSlot* slot, bool for_good, uint64_t program) {
  uint64_t word;
  for (uint64_t at = program; at - program < kWalkedStack && load_word<8>(at, &word); at += 8) {
    uint64_t limit = kAnyOrder;
    while (whose_returned(word) == Returned::kOurs) {
      SpilledFrame* frame = find_spilled(at, limit);
      if (!frame) frame = spill_from_others(slot, at);
      if (!frame || frame->reserved || order_of(frame->tag) >= limit) break;
      limit = order_of(frame->tag);
      if (!for_good) note_given_up(slot, frame, word);
      compiler_barrier();
      if (!compare_and_swap(stack_word(at), word, frame->return_address)) break;
      if (for_good) __atomic_fetch_add(&slot->skipped[abi::kSkipUnwound], 1, __ATOMIC_RELAXED);
      word = frame->return_address;
    }
  }
}

// Puts the real return addresses back for good. Where the controller would catch faults, frames are looked for by what they say;
// now only memory is looked at that is sure to be there.
SPILE_COLD void give_up_abandoned(uint64_t here) {
  uint64_t end = end_of_stack(here);
  if (end - here > kWalkedStack && end) end = here + kWalkedStack;
  for (uint64_t at = here; at + 8 <= end; at += 8) {
    uint64_t* place = stack_word(at);
    if (whose_returned(load_relaxed(place)) != Returned::kOurs) continue;
    if (uint64_t address = abandoned_return_address(at)) *place = address;  // else what a function has left there
  }
}

SPILE_COLD void end_walk(Context* context, uint64_t left_from, uint64_t left_to, const HandlerStack& own) {
  if (!context->overflow) context->slot->walk = 0;
  rewind(context, left_from, left_to, kEverywhere, own);
}

// Whether a step whose handler runs at this place of the stack is one of the walk that is under way. Walks end unseen by longjmp,
// or where their landing is not known; so only steps that are near to their walk's begin are its own.
bool is_of_walk(const ThreadSlot* slot, uint64_t here) {
  constexpr uint64_t kFarthest = 64 << 10;    // frames of an unwinder that takes a step
  constexpr uint64_t kLargestSave = 8 << 10;  // what trampolines put on the stack, one more than another
  return slot->walk != 0 && slot->walk + kLargestSave - here < kFarthest + kLargestSave;
}

void give_up(Context* context, const HandlerStack& own) {
  ThreadSlot* slot = context->slot;
  if (controller_gone(context->arena)) return give_up_abandoned(own.end);
  uint32_t depth = slot->shadow_depth;
  if (depth > spile_rt_shadow_capacity) depth = spile_rt_shadow_capacity;
  // The newest first: where frames share a stack slot, each one's return address leads into the code of the one below.
  for (uint32_t index = depth; index-- > 0;) {
    ShadowFrame* frame = frame_at(slot, index);
    if (!frame->stack_slot || frame->reserved > kHole || own.has(frame->stack_slot)) continue;
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
  const bool elsewhere = !load_relaxed(&inherited_state()->spills_returns) &&
                         (context->overflow || others_may_have(slot, reinterpret_cast<uint64_t>(__builtin_frame_address(0))));
  if (elsewhere) begin_spilling(slot);
  if (load_relaxed(&inherited_state()->spills_returns)) give_up_spilled(slot, context->overflow, own.end);
}

}  // namespace

extern "C" {

SPILE_INLINE uint64_t* spile_rt_return_enter(Context* context, uint64_t cfa, uint64_t site_id) {
  ThreadSlot* slot = context->slot;
  uint32_t index;
  if (controller_gone(context->arena)) return nullptr;
  if (unlikely(context->overflow || !push_own(slot, &index))) return enter_elsewhere_later(slot, return_slot_of(cfa), site_id);
  return fill(frame_at(slot, index), return_slot_of(cfa), site_id, false);
}

SPILE_INLINE bool spile_rt_return_push(Context* context, uint64_t cfa, uint64_t site_id) {
  ThreadSlot* slot = context->slot;
  uint32_t index;
  if (controller_gone(context->arena)) return false;
  if (unlikely(context->overflow || !push_own(slot, &index))) return push_elsewhere(slot, return_slot_of(cfa), site_id);
  fill(frame_at(slot, index), return_slot_of(cfa), site_id, true);
  return true;
}

SPILE_INLINE void spile_rt_return_entered(Context*, uint64_t cfa, uint64_t* saves) {
  compiler_barrier();
  ShadowFrame* frame = frame_of(saves);
  if (unlikely(frame->stack_slot != 0)) publish_spilled(reinterpret_cast<SpilledFrame*>(frame));
  else frame->stack_slot = return_slot_of(cfa);
}

SPILE_INLINE uint64_t* spile_rt_return_find(Context* context, uint64_t cfa) {
  ShadowFrame* frame = find_frame(context->slot, return_slot_of(cfa), &context->pending);
  if (unlikely(!frame)) frame = find_claimed(context->slot, &context->pending);
  context->site_id = static_cast<uint32_t>(frame->site_id);
  return saves_of(frame);
}

SPILE_INLINE void spile_rt_return_exit(Context* context, uint64_t cfa, uint64_t* saves) {
  ThreadSlot* slot = context->slot;
  ShadowFrame* frame = frame_of(saves);
  *reinterpret_cast<uint64_t*>(return_slot_of(cfa)) = frame->return_address;
  // Found on top, and still there: whatever a signal handler has pushed meanwhile is gone.
  uint32_t depth = context->pending;
  if (likely(load_to_compare(&slot->shadow_depth) == depth)) {
    compiler_barrier();
    slot->shadow_depth = depth - 1;
    ShadowFrame* below = frame_at(slot, depth - 2);
    if (unlikely(depth > 1 && below->reserved == kHole)) drop_holes_below(slot);
    return;
  }
  if (unlikely(depth == abi::kAbandoned)) return leave_abandoned(reinterpret_cast<uint64_t*>(return_slot_of(cfa)));
  uint64_t distance = distance_from(spilled_at(0), frame);
  if (unlikely(is_spilled(frame))) return free_spilled(within<SpilledFrame>(spilled_at(0), distance));
  free_elsewhere(slot, frame);
}

[[gnu::noinline]] void spile_rt_unwind(Context* context, uint64_t program) {
  uint64_t here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  if (!context->overflow) context->slot->walk = here;
  give_up(context, {here, program});
}

[[gnu::noinline]] void spile_rt_unwind_step(Context* context, uint64_t program) {
  give_up(context, {reinterpret_cast<uint64_t>(__builtin_frame_address(0)), program});
}

// Unwinders run on the stack that they unwind: what they leave lies between their frames and the landing.
[[gnu::noinline]] void spile_rt_rewind(Context* context, uint64_t program, uint64_t landing) {
  uint64_t here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  end_walk(context, here, landing, {here, program});
}

[[gnu::noinline]] void spile_rt_rewind_step(Context* context, uint64_t program) {
  uint64_t here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  // What the walk was given stays so until it ends; other frames are of functions that the unwinder itself has called.
  const bool of_walk = !context->overflow && is_of_walk(context->slot, here);
  rewind(context, here, 0, of_walk ? context->slot->walk : kEverywhere, {here, program});
}

[[gnu::noinline]] void spile_rt_rewind_caught(Context* context, uint64_t program) {
  uint64_t here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  end_walk(context, here > kLargestStack ? here - kLargestStack : 0, here, {here, program});
}

}  // extern "C"

// The controller does not know which addresses are our trampolines': an address outside of the program's code is looked for among
// the process's pending returns.
[[gnu::noinline]] uint64_t pending_return_address(Context* context, uint64_t map, int64_t pid, uint64_t stack_slot,
                                                  uint64_t word) {
  if (find_module(context, map, word - 1)) return word;
  abi::ArenaHeader* header = context->arena;
  constexpr uint64_t kMostLooked = 1 << 20;  // pending returns of a process, for one return address
  uint64_t found = 0, left = kMostLooked;
  for (uint64_t n = abi::kFirstSlot, end = slots_end(); n < end; ++n) {
    abi::ThreadSlot* slot = slot_at(header, n);
    uint64_t owner = load_relaxed(&slot->owner);
    if (!owner && !load_relaxed(&slot->thread_pointer)) break;  // never used, nor are those behind it
    if (owner >> 32 != static_cast<uint64_t>(pid)) continue;
    uint32_t depth = load_relaxed(&slot->shadow_depth);
    if (depth > spile_rt_shadow_capacity) depth = spile_rt_shadow_capacity;
    if (depth > left) break;
    left -= depth;
    for (uint32_t index = depth; index-- > 0;) {
      auto* frame =
          reinterpret_cast<const abi::ShadowFrame*>(bytes_of(slot) + spile_rt_shadow_offset + index * spile_rt_shadow_stride);
      if (frame->stack_slot != stack_slot) continue;
      if (find_module(context, map, frame->return_address - 1)) return frame->return_address;
      found = frame->return_address;
    }
  }
  return found ? found : word;
}

}  // namespace spile::rt
