#pragma once
// Pending returns that are not in a thread's stack of frames: an open hash table in the process's own memory (abi/arena.h
// SpilledReturns), by the address of the stack slot, which no two stacks of a process share.
//
// All threads of the process use it, without locks. A frame belongs to whoever runs on the stack that its slot is in, so only
// one thread at a time enters or leaves frames of one slot; threads compete for free places only, which a compare-and-swap
// of the tag settles. Frames of one slot (tail calls) are distinguished by their order.

#include "runtime/core/core.h"

namespace spile::rt {

using abi::SpilledFrame;

// REQUIRES, for all below but is_returned: in a target, whose script has return probes.
SPILE_INLINE inline abi::InheritedState* inherited_state() {
  return reinterpret_cast<abi::InheritedState*>(bytes_of(process_table()) + abi::kInheritedOffset);
}
// Returns the frame at a place of the table. REQUIRES: place < abi::spilled_frames().
SPILE_INLINE inline SpilledFrame* spilled_at(uint64_t place) {
  return reinterpret_cast<SpilledFrame*>(bytes_of(inherited_state() + 1) + place * spile_rt_shadow_stride);
}
// Returns the place where the frame of a stack slot belongs; it may lie up to abi::kSpilledWindow - 1 places behind.
SPILE_INLINE inline uint64_t spilled_place(uint64_t stack_slot) {
  return abi::spilled_index(stack_slot, abi::spilled_frames(spile_rt_shadow_stride));
}
// Whether a frame lies in the table rather than in a thread's stack of frames.
SPILE_INLINE inline bool is_spilled(const void* frame) {
  uint64_t size = abi::spilled_frames(spile_rt_shadow_stride) * spile_rt_shadow_stride;
  return static_cast<uint64_t>(static_cast<const char*>(frame) - bytes_of(spilled_at(0))) < size;
}
SPILE_INLINE inline uint64_t place_of(const SpilledFrame* frame) {
  return static_cast<uint64_t>(bytes_of(frame) - bytes_of(spilled_at(0))) / spile_rt_shadow_stride;
}

// Returns the newest pending frame of the stack slot whose order is below `limit`; null: the slot has none. It stays in the
// table.
inline constexpr uint64_t kAnyOrder = uint64_t{1} << 16;  // above all orders
SpilledFrame* find_spilled(uint64_t stack_slot, uint64_t limit);
SPILE_INLINE inline uint64_t order_of(uint64_t tag) { return tag >> abi::kSpilledOrderShift; }

// Takes a place for a frame, and writes its return address and site; publish_spilled makes it pending, and the saved entry values
// behind it are the caller's to write before. Frees frames that are left over of the stack slot, unless the return address is a
// `returned` address, which leads to them. Null: no place is free near where it belongs, too many frames have this stack slot, or
// its address is not one that the table can hold. slot: the calling thread's, for counting.
SpilledFrame* claim_spilled(abi::ThreadSlot* slot, uint64_t stack_slot, uint64_t return_address, uint64_t site_id);
// Takes a place for a frame that is older than all of the stack slot in the table. Null: as above, or the function has been left
// long since, and *is_stale is true. REQUIRES: *is_stale is false before, as it is written only where the table has a frame of
// the slot.
SpilledFrame* claim_spilled_beneath(abi::ThreadSlot* slot, uint64_t stack_slot, uint64_t return_address, uint64_t site_id,
                                    bool* is_stale);
// Makes a claimed frame pending.
SPILE_INLINE inline void publish_spilled(SpilledFrame* frame) { store_release(&frame->tag, frame->tag & ~abi::kSpilledBusy); }
// Gives a frame's place back.
SPILE_INLINE inline void free_spilled(SpilledFrame* frame) { store_release(&frame->tag, uint64_t{0}); }

// Whether the word is a `returned` address, ours or another controller's (returns.cpp).
bool is_returned(uint64_t word);

}  // namespace spile::rt
