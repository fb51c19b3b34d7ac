#include "runtime/process/spilled_returns.h"

#include "runtime/core/core.h"

namespace spile::rt {

namespace {

constexpr uint64_t kKeyAndState = abi::kSpilledKeyMask | abi::kSpilledBusy;
// of frames at one stack slot
constexpr uint64_t kFirstOrder = abi::kSpilledFirst >> abi::kSpilledOrderShift;
constexpr uint64_t kMostSharing = 23;  // frames of one stack slot behind its first: others need places of the window, too
constexpr uint64_t kMostOrder = kFirstOrder + kMostSharing;

SPILE_INLINE inline uint64_t mask() { return abi::spilled_frames(spile_rt_shadow_stride) - 1; }

bool is_left(uint64_t tag) {
  uint64_t word;
  return !load_word<8>(tag & abi::kSpilledKeyMask, &word) || !is_returned(word);
}

// Makes frames of the slot that nobody will return by free. The order of the next frame.
uint64_t make_way(uint64_t stack_slot, uint64_t return_address) {
  uint64_t home = abi::spilled_index(stack_slot, mask() + 1);
  uint32_t reach = load_relaxed(&spilled_at(home)->reach);
  uint64_t order = kFirstOrder;
  bool is_tail_call = false, known = false;
  for (uint32_t n = 0; n <= reach; ++n) {
    SpilledFrame* frame = spilled_at((home + n) & mask());
    uint64_t tag = load_acquire(&frame->tag);
    if ((tag & kKeyAndState) != stack_slot) continue;
    if (!known) is_tail_call = is_returned(return_address);
    known = true;
    if (!is_tail_call) {
      compare_and_swap(&frame->tag, tag, uint64_t{0});
      continue;
    }
    if (order_of(tag) + 1 > order) order = order_of(tag) + 1;
    compare_and_swap(&frame->tag, tag, tag | abi::kSpilledNewer);
  }
  return order;
}

SpilledFrame* claim_free(uint64_t home, uint64_t tag) {
  for (uint32_t n = 0; n < abi::kSpilledWindow; ++n) {
    uint64_t place = (home + n) & mask();
    SpilledFrame* frame = spilled_at(place);
    if (load_relaxed(&frame->tag) != 0 || place == abi::kNoSpilledPlace) continue;
    // Before the frame is there: whoever looks for it looks far enough.
    SpilledFrame* first = spilled_at(home);
    for (uint8_t reach; (reach = load_relaxed(&first->reach)) < n;)
      compare_and_swap(&first->reach, reach, static_cast<uint8_t>(n));
    if (compare_and_swap(&frame->tag, uint64_t{0}, tag)) return frame;
  }
  return nullptr;
}

// In the place of one that has been left by longjmp, or with its whole stack. One that an unwinder was given the address of
// is the last choice: it may come back.
SpilledFrame* claim_left(abi::ThreadSlot* slot, uint64_t home, uint64_t tag) {
  for (bool given_up = false;; given_up = true) {
    for (uint32_t n = 0; n < abi::kSpilledWindow; ++n) {
      SpilledFrame* frame = spilled_at((home + n) & mask());
      uint64_t present = load_acquire(&frame->tag);
      if (present == 0 || (present & abi::kSpilledBusy)) continue;
      if ((load_relaxed(&frame->reserved) != 0) != given_up || !is_left(present)) continue;
      SpilledFrame* first = spilled_at(home);
      for (uint8_t reach; (reach = load_relaxed(&first->reach)) < n;)
        compare_and_swap(&first->reach, reach, static_cast<uint8_t>(n));
      if (!compare_and_swap(&frame->tag, present, tag)) continue;
      if (given_up) count_skip(slot, abi::kSkipUnwound);
      return frame;
    }
    if (given_up) return nullptr;
  }
}

SpilledFrame* claim(abi::ThreadSlot* slot, uint64_t tag, uint64_t return_address, uint64_t site_id) {
  uint64_t home = abi::spilled_index(tag & abi::kSpilledKeyMask, mask() + 1);
  SpilledFrame* frame = claim_free(home, tag | abi::kSpilledBusy);
  if (unlikely(!frame) && !controller_gone(arena_header())) frame = claim_left(slot, home, tag | abi::kSpilledBusy);
  if (unlikely(!frame)) return nullptr;
  frame->return_address = return_address;
  frame->site_id = static_cast<uint32_t>(site_id);
  frame->reserved = 0;
  return frame;
}

}  // namespace

SpilledFrame* find_spilled(uint64_t stack_slot, uint64_t limit) {
  uint64_t home = abi::spilled_index(stack_slot, mask() + 1);
  SpilledFrame* newest = nullptr;
  uint64_t order = 0;
  uint32_t reach = load_relaxed(&spilled_at(home)->reach);
  for (uint32_t n = 0; n <= reach; ++n) {
    SpilledFrame* frame = spilled_at((home + n) & mask());
    uint64_t tag = load_acquire(&frame->tag);
    if ((tag & kKeyAndState) != stack_slot || order_of(tag) >= limit) continue;
    if (likely(limit == kAnyOrder && !(tag & abi::kSpilledNewer))) return frame;
    if (newest && order_of(tag) < order) continue;
    newest = frame;
    order = order_of(tag);
  }
  return newest;
}

SpilledFrame* claim_spilled(abi::ThreadSlot* slot, uint64_t stack_slot, uint64_t return_address, uint64_t site_id) {
  if (unlikely(stack_slot & ~abi::kSpilledKeyMask)) return nullptr;
  uint64_t order = make_way(stack_slot, return_address);
  if (unlikely(order > kMostOrder)) return nullptr;
  return claim(slot, stack_slot | order << abi::kSpilledOrderShift, return_address, site_id);
}

SpilledFrame* claim_spilled_beneath(abi::ThreadSlot* slot, uint64_t stack_slot, uint64_t return_address, uint64_t site_id,
                                    bool* is_stale) {
  if (unlikely(stack_slot & ~abi::kSpilledKeyMask)) return nullptr;
  uint64_t order = kFirstOrder;
  const SpilledFrame* oldest = nullptr;
  for (uint64_t limit = kAnyOrder; const SpilledFrame* next = find_spilled(stack_slot, limit); limit = order_of(next->tag))
    oldest = next;
  if (oldest) {
    *is_stale = !is_returned(oldest->return_address);
    order = order_of(oldest->tag) - 1;
    if (*is_stale || order == 0) return nullptr;
  }
  uint64_t tag = stack_slot | order << abi::kSpilledOrderShift | (oldest ? abi::kSpilledNewer : 0);
  return claim(slot, tag, return_address, site_id);
}

}  // namespace spile::rt
