// Entry values of return probes in Go programs, where nothing may be left on the stack (abi::kReturnsInPlace).
//
// A goroutine goes on on any thread, and its stack is copied to another place when it grows. What stays is the goroutine
// itself (runtime.g) and how deep in its stack, counted from the end, a function's frame lies: by both, and the process, a
// call is found again at its return. On stacks that don't move (a thread's own, the signal stack) the address will do.
//
// The table is shared by all processes: sets of kWays frames, a set chosen by a hash. A tag says that a frame is free (0),
// being filled (1), or that its key may be worth comparing. One goroutine runs on one thread at a time, so no two threads
// ever deal with the same key; only free frames are competed for.
//
// Calls that a panic or runtime.Goexit has ended leave their frames behind. The next call at the same depth takes such a
// frame over; in a set that is full, so does any call that is less deep.

#include "runtime/native/native.h"

namespace spile::rt {

namespace {

using abi::ShadowFrame;

inline constexpr uint64_t kFree = 0, kFilling = 1;

struct CallKey {
  uint64_t goroutine, depth, process;
};

struct FrameSet {
  uint64_t* tags;
  char* frames;
};

bool current_call(Context* context, uint64_t cfa, CallKey* key) {
  uint64_t offset = spile_cells.goroutine;
  uint64_t goroutine = 0, low, high;
  uint64_t base = read_thread_pointer();
  key->process = context->slot->owner >> 32;
  key->depth = cfa;
  if (base && offset && !load_word<8>(base + offset, &goroutine)) return false;
  key->goroutine = goroutine;
  if (!goroutine) {
    key->goroutine = base;
    return true;
  }
  if (!load_word<8>(goroutine, &low) || !load_word<8>(goroutine + 8, &high)) return false;
  if (cfa > low && cfa <= high) key->depth = high - cfa;
  return true;
}

uint64_t mix(const CallKey* key) {
  uint64_t hash = (key->goroutine >> 4) * 0x9e3779b97f4a7c15ULL ^ (key->depth + key->process) * 0xc2b2ae3d27d4eb4fULL;
  return hash ^ hash >> 29;
}

char* table(const Context* context) {
  return bytes_of(context->arena) + uint64_t{spile_rt_frames_page} * abi::kPageSize;
}

FrameSet set_of(Context* context, uint64_t hash) {
  uint64_t stride = abi::goroutine_set_stride(spile_rt_shadow_stride);
  char* set = table(context) + (hash >> 20 & (abi::kGoroutineSets - 1)) * stride;
  return {reinterpret_cast<uint64_t*>(set), set + abi::kGoroutineWays * sizeof(uint64_t)};
}
ShadowFrame* frame_in(const FrameSet& set, uint32_t way) {
  return reinterpret_cast<ShadowFrame*>(set.frames + way * spile_rt_shadow_stride);
}

bool belongs_to(const ShadowFrame* frame, const CallKey* key) {
  return frame->return_address == key->goroutine && frame->reserved == key->process;
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

uint32_t claim_way(const FrameSet& set, const CallKey* key) {
  for (uint32_t way = 0; way < abi::kGoroutineWays; ++way) {
    if (load_relaxed(&set.tags[way]) == kFree && compare_and_swap(&set.tags[way], uint64_t{kFree}, uint64_t{kFilling})) return way;
  }
  for (uint32_t way = 0; way < abi::kGoroutineWays; ++way) {
    uint64_t tag = load_acquire(&set.tags[way]);
    const ShadowFrame* frame = frame_in(set, way);
    bool left = tag > kFilling && belongs_to(frame, key) && frame->stack_slot > key->depth;
    if (left && compare_and_swap(&set.tags[way], tag, uint64_t{kFilling})) return way;
  }
  return abi::kGoroutineWays;
}

uint64_t tag_of(uint64_t hash) { return hash | 2; }

}  // namespace

extern "C" {

[[gnu::noinline]] uint64_t* spile_rt_goroutine_enter(Context* context, uint64_t cfa, uint64_t site_id) {
  CallKey key;
  if (unlikely(!current_call(context, cfa, &key))) {
    count_skip(context->slot, abi::kSkipNoSlot);
    return nullptr;
  }
  uint64_t hash = mix(&key);
  FrameSet set = set_of(context, hash);
  uint32_t way = find_way(set, tag_of(hash), &key);
  if (way == abi::kGoroutineWays) way = claim_way(set, &key);
  if (unlikely(way == abi::kGoroutineWays)) {
    count_skip(context->slot, abi::kSkipShadowFull);
    return nullptr;
  }
  ShadowFrame* frame = frame_in(set, way);
  frame->stack_slot = key.depth;
  frame->return_address = key.goroutine;
  frame->reserved = key.process;
  frame->site_id = site_id;
  store_release(&set.tags[way], tag_of(hash));
  return reinterpret_cast<uint64_t*>(frame + 1);
}

[[gnu::noinline]] uint64_t* spile_rt_goroutine_find(Context* context, uint64_t cfa, uint64_t site_id) {
  CallKey key;
  if (!current_call(context, cfa, &key)) return nullptr;
  uint64_t hash = mix(&key);
  FrameSet set = set_of(context, hash);
  uint32_t way = find_way(set, tag_of(hash), &key);
  if (way == abi::kGoroutineWays) return nullptr;
  ShadowFrame* frame = frame_in(set, way);
  if (frame->site_id == site_id) return reinterpret_cast<uint64_t*>(frame + 1);
  store_release(&set.tags[way], uint64_t{kFree});  // of a call that has ended otherwise
  return nullptr;
}

[[gnu::noinline]] void spile_rt_goroutine_exit(Context* context, uint64_t* saves) {
  char* frame = bytes_of(saves) - sizeof(ShadowFrame);
  uint64_t at = static_cast<uint64_t>(frame - table(context));
  uint64_t stride = abi::goroutine_set_stride(spile_rt_shadow_stride);
  uint64_t within = at % stride - abi::kGoroutineWays * sizeof(uint64_t);
  auto* tags = reinterpret_cast<uint64_t*>(table(context) + at / stride * stride);
  store_release(&tags[within / spile_rt_shadow_stride], uint64_t{kFree});
}

}  // extern "C"

}  // namespace spile::rt
