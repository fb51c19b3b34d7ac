// Entry values of return probes in Go programs, where nothing may be left on the stack (abi::kReturnsInPlace).
//
// A goroutine goes on on any thread, and its stack is copied to another place when it grows. What stays is the goroutine
// itself (runtime.g) and how deep in its stack, counted from the end, a function's frame lies: by both, and the process, a
// call is found again at its return (call_table.h). On stacks that don't move (a thread's own, the signal stack) the address will
// do. One goroutine runs on one thread at a time, so no two threads ever deal with the same key.
//
// Calls that a panic or runtime.Goexit has ended leave their frames behind. The next call at the same depth takes such a
// frame over; in a set that is full, so does any call that is less deep.

#include "runtime/core/call_table.h"
#include "runtime/core/core.h"

namespace spile::rt {

namespace {

bool current_call(Context* context, uint64_t cfa, CallKey* key) {
  uint64_t offset = spile_cells.goroutine;
  uint64_t goroutine = 0, low, high;
  uint64_t base = read_thread_pointer();
  key->process = context->slot->owner >> 32;
  key->depth = cfa;
  if (base && offset && !load_word<8>(base + offset, &goroutine)) return false;
  key->owner = goroutine;
  if (!goroutine) {
    key->owner = base;
    return true;
  }
  if (!load_word<8>(goroutine, &low) || !load_word<8>(goroutine + 8, &high)) return false;
  if (cfa > low && cfa <= high) key->depth = high - cfa;
  return true;
}

uint32_t claim_way(const FrameSet& set, const CallKey* key) {
  for (uint32_t way = 0; way < abi::kGoroutineWays; ++way) {
    if (load_relaxed(&set.tags[way]) == kFree && compare_and_swap(&set.tags[way], uint64_t{kFree}, uint64_t{kFilling}))
      return way;
  }
  for (uint32_t way = 0; way < abi::kGoroutineWays; ++way) {
    uint64_t tag = load_acquire(&set.tags[way]);
    const ShadowFrame* frame = frame_in(set, way);
    bool left = tag > kFilling && belongs_to(frame, key) && frame->stack_slot > key->depth;
    if (left && compare_and_swap(&set.tags[way], tag, uint64_t{kFilling})) return way;
  }
  return abi::kGoroutineWays;
}

// Returns the entry values of the call, if the site is the one where it was entered; null: the call is not there. Frees the frame
// of another site: of a call that has ended otherwise.
uint64_t* find_frame(Context* context, const CallKey* key, uint64_t site_id) {
  uint64_t hash = mix(key);
  FrameSet set = set_of(context, hash);
  uint32_t way = find_way(set, tag_of(hash), key);
  if (way == abi::kGoroutineWays) return nullptr;
  ShadowFrame* frame = frame_in(set, way);
  if (frame->site_id == site_id) return reinterpret_cast<uint64_t*>(frame + 1);
  store_release(&set.tags[way], kFree);
  return nullptr;
}

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
  return publish_frame(set, way, hash, &key, site_id);
}

[[gnu::noinline]] uint64_t* spile_rt_goroutine_find(Context* context, uint64_t cfa, uint64_t site_id) {
  CallKey key;
  return current_call(context, cfa, &key) ? find_frame(context, &key, site_id) : nullptr;
}

// Returns the address of the goroutine whose stack has the place, and how deep it is there, in bytes from the stack's end; 0: it
// is on no goroutine's stack.
[[gnu::noinline]] int64_t spile_fn___goroutine(Context* context, int64_t place) {
  CallKey key;
  const auto on_stack = static_cast<uint64_t>(place);
  if (spile_cells.goroutine == 0 || !current_call(context, on_stack, &key)) return 0;
  return key.depth == on_stack ? 0 : static_cast<int64_t>(key.owner);
}
[[gnu::noinline]] int64_t spile_fn___goroutine_depth(Context* context, int64_t place) {
  CallKey key;
  return current_call(context, static_cast<uint64_t>(place), &key) ? static_cast<int64_t>(key.depth) : 0;
}

[[gnu::noinline]] void spile_rt_goroutine_exit(Context* context, uint64_t* saves) { free_frame(context, saves); }

}  // extern "C"

}  // namespace spile::rt
