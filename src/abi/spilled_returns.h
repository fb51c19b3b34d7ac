#pragma once
// Pending returns of a process that switches stacks, and other state that a forked child has a copy of: private memory of the
// process, behind its ProcessTable (kInheritedOffset). Freestanding; the process's threads write it, the controller where a field
// says so.

#include "abi/arena.h"

namespace spile::abi {

// A pending return that is not in a thread's stack of frames (runtime/process/spilled_returns.cpp), of a program that switches
// stacks. Behind the process's InheritedState lies an open hash table of spilled_frames() places of shadow_stride bytes, by the
// tag's address: each has a frame, followed by its saved entry values.
//
//   tag:  0: free    bit 0: being filled, or being left    bit 1: there is, or was, a newer frame of this stack slot
//         bits 3 to 46: the address of the stack slot    bits 48 to 63: greater in newer frames of the same stack slot
struct SpilledFrame {
  uint64_t tag;             // where a ShadowFrame has stack_slot
  uint64_t return_address;  // as in a ShadowFrame
  uint32_t site_id;
  uint16_t next;  // 1 + the place of the next frame in the list that begins at ThreadSlot::given_up; 0: the last one
  uint8_t reach;  // of the place, not its frame: the most places that a frame with this spilled_index() lies behind it
  uint8_t pad;
  uint64_t reserved;  // as in a ShadowFrame
};
static_assert(sizeof(SpilledFrame) == sizeof(ShadowFrame));
// State that a forked child has a copy of, though its ProcessTable is empty.
struct InheritedState {
  uint64_t slots;           // the number of the arena's slots that are mapped; the controller writes it
  uint64_t slots_are_all;   // 1: the controller can't map more
  uint64_t spills_returns;  // 1: entries put their frames here rather than into their threads' stacks; for good
  uint64_t slots_change;    // 1: the controller is mapping more, and `slots` may be too few
  // The number of the process whose slots have the pending returns of these stacks: this one, or where the controller has
  // died, one that it was forked from. The controller writes it.
  uint64_t process;
  uint64_t first_stack_end;  // behind the stack of the first thread; 0: not known. The controller writes it
  uint64_t pad[10];
};
static_assert(sizeof(InheritedState) == 128);  // frames that belong together lie in a pair of cache lines
inline constexpr uint64_t kSpilledBusy = 1, kSpilledNewer = 2;
inline constexpr uint32_t kSpilledOrderShift = 48;
inline constexpr uint64_t kSpilledFirst = uint64_t{1024} << kSpilledOrderShift;  // the order of the only frame of a stack slot
// of a tag: its stack slot; frames of other addresses are never spilled
inline constexpr uint64_t kSpilledKeyMask = 0x7ffffffffff8;
inline constexpr uint32_t kSpilledWindow = 32;       // a frame lies fewer places than this behind its spilled_index()
inline constexpr uint64_t kNoSpilledPlace = 0xffff;  // stays free: `next` can't name it
// Returns the number of places in the table, a power of two of 1,024 to 65,536. shadow_stride: bytes.
constexpr uint64_t spilled_frames(uint64_t shadow_stride) {
  uint64_t frames = 65536;
  while (frames > 1024 && frames * shadow_stride > (16 << 20)) frames /= 2;
  return frames;
}
// Returns the place where the frame of a stack slot belongs; never kNoSpilledPlace. frames: spilled_frames(). Frames that are
// near on a stack are near in the table: those of a coroutine that is resumed are in a cache line or two. The multiplication
// spreads stacks that are equally far from each other evenly: the factor was searched for, with distances of 1 to 2,049 pages and
// those of malloc (runtime/returns_test.cpp).
constexpr uint64_t spilled_index(uint64_t stack_slot, uint64_t frames) {
  constexpr uint64_t kTogether = 4, kLeastFrame = 32;  // frames; of a function, in bytes, mostly
  uint64_t spread = (stack_slot / (kTogether * kLeastFrame)) * 0x3124764a82e743bdULL >> 32;
  return (spread * (frames - kTogether) >> 32) ^ (stack_slot / kLeastFrame % kTogether);
}
// Returns the bytes, whole pages, of InheritedState and the table behind it; with shadow_capacity 0, of InheritedState alone.
constexpr uint64_t inherited_size(uint64_t shadow_stride, uint32_t shadow_capacity) {
  uint64_t spilled = shadow_capacity != 0 ? spilled_frames(shadow_stride) * shadow_stride : 0;
  return (sizeof(InheritedState) + spilled + kPageSize - 1) / kPageSize * kPageSize;
}

}  // namespace spile::abi
