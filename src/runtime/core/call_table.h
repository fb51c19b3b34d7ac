#pragma once
// Pending calls that are found again at their return by a key: calls of Go functions (goroutines.cpp), and of probed functions of
// the kernel (runtime/kernel/returns.cpp). The table is shared by all: sets of kGoroutineWays frames, a set chosen by a hash. A
// tag says that a frame is free (0), being filled (1), or that its key may be worth comparing. No two threads ever deal with the
// same key; only free frames are competed for.

#include "runtime/core/core.h"

namespace spile::rt {

namespace {

using abi::ShadowFrame;

inline constexpr uint64_t kFree = 0, kFilling = 1;  // of a tag

// Who called, at which depth of its stack, in which process (0 where the owner says it).
struct CallKey {
  uint64_t owner, depth, process;
};

struct FrameSet {
  uint64_t* tags;
  char* frames;
};

uint64_t mix(const CallKey* key) {
  uint64_t hash = (key->owner >> 4) * 0x9e3779b97f4a7c15ULL ^ (key->depth + key->process) * 0xc2b2ae3d27d4eb4fULL;
  return hash ^ hash >> 29;
}

char* table(const Context* context) { return bytes_of(context->arena) + uint64_t{spile_rt_frames_page} * abi::kPageSize; }

FrameSet set_of(Context* context, uint64_t hash) {
  uint64_t stride = abi::goroutine_set_stride(spile_rt_shadow_stride);
  char* set = table(context) + (hash >> 20 & (kFrameSets - 1)) * stride;
  return {reinterpret_cast<uint64_t*>(set), set + abi::kGoroutineWays * sizeof(uint64_t)};
}
ShadowFrame* frame_in(const FrameSet& set, uint32_t way) {
  return reinterpret_cast<ShadowFrame*>(set.frames + way * spile_rt_shadow_stride);
}

bool belongs_to(const ShadowFrame* frame, const CallKey* key) {
  return frame->return_address == key->owner && frame->reserved == key->process;
}

// The way of the call's frame, or kGoroutineWays.
uint32_t find_way(const FrameSet& set, uint64_t tag, const CallKey* key) {
  uint32_t way = 0;
  for (; way < abi::kGoroutineWays; ++way) {
    if (load_acquire(&set.tags[way]) != tag) continue;
    const ShadowFrame* frame = frame_in(set, way);
    if (belongs_to(frame, key) && frame->stack_slot == key->depth) break;
  }
  return way;
}

uint64_t tag_of(uint64_t hash) { return hash | 2; }

// Fills the frame and makes it findable; returns the place for its entry values.
uint64_t* publish_frame(const FrameSet& set, uint32_t way, uint64_t hash, const CallKey* key, uint64_t site_id) {
  ShadowFrame* frame = frame_in(set, way);
  frame->stack_slot = key->depth;
  frame->return_address = key->owner;
  frame->reserved = key->process;
  frame->site_id = site_id;
  store_release(&set.tags[way], tag_of(hash));
  return reinterpret_cast<uint64_t*>(frame + 1);
}

// saves: what publish_frame returned.
void free_frame(Context* context, uint64_t* saves) {
  char* frame = bytes_of(saves) - sizeof(ShadowFrame);
  uint64_t at = static_cast<uint64_t>(frame - table(context));
  uint64_t stride = abi::goroutine_set_stride(spile_rt_shadow_stride);
  uint64_t within = at % stride - abi::kGoroutineWays * sizeof(uint64_t);
  auto* tags = reinterpret_cast<uint64_t*>(table(context) + at / stride * stride);
  store_release(&tags[within / spile_rt_shadow_stride], kFree);
}

}  // namespace

}  // namespace spile::rt
