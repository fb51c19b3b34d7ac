// Entry values of return probes in the kernel, kept by the thread and what the entry and the return of a call have in common (its
// frame, or the kernel's own number of the call).
//
// A thread that ends inside of a probed function leaves its frame behind. In a set that is full, the frame that has been there
// for the longest time makes room (counted), so such frames don't stay for ever.

#include "runtime/core/call_table.h"
#include "runtime/core/core.h"

namespace spile::rt {

namespace {

// The frame's age: when it was entered. The key says the site.
uint64_t& entered_at(const FrameSet& set, uint32_t way) { return frame_in(set, way)->site_id; }

// Each return probe of a call has a frame of its own.
CallKey key_of(uint64_t call, uint64_t site_id) {
  return {helper<uint64_t (*)()>(BPF_FUNC_get_current_pid_tgid)(), call, site_id + 1};
}

uint32_t claim_free_or_oldest(Context* context, const FrameSet& set) {
  uint32_t oldest = 0;
  uint64_t age = ~uint64_t{0};
  for (uint32_t way = 0; way < abi::kGoroutineWays; ++way) {
    uint64_t tag = load_relaxed(&set.tags[way]);
    if (tag == kFree && compare_and_swap(&set.tags[way], kFree, kFilling)) return way;
    if (tag > kFilling && entered_at(set, way) < age) {
      age = entered_at(set, way);
      oldest = way;
    }
  }
  uint64_t tag = load_relaxed(&set.tags[oldest]);
  if (tag > kFilling && compare_and_swap(&set.tags[oldest], tag, kFilling)) {
    count_skip(context->slot, abi::kSkipUnwound);
    return oldest;
  }
  return abi::kGoroutineWays;
}

}  // namespace

extern "C" {

[[gnu::noinline]] uint64_t* spile_rt_kernel_return_enter(Context* context, uint64_t call, uint64_t site_id) {
  CallKey key = key_of(call, site_id);
  uint64_t hash = mix(&key);
  FrameSet set = set_of(context, hash);
  uint32_t way = find_way(set, tag_of(hash), &key);
  if (way == abi::kGoroutineWays) way = claim_free_or_oldest(context, set);
  if (unlikely(way == abi::kGoroutineWays)) {
    count_skip(context->slot, abi::kSkipShadowFull);
    return nullptr;
  }
  return publish_frame(set, way, hash, &key, monotonic_ns());
}

[[gnu::noinline]] uint64_t* spile_rt_kernel_return_find(Context* context, uint64_t call, uint64_t site_id) {
  CallKey key = key_of(call, site_id);
  uint64_t hash = mix(&key);
  FrameSet set = set_of(context, hash);
  uint32_t way = find_way(set, tag_of(hash), &key);
  return way == abi::kGoroutineWays ? nullptr : reinterpret_cast<uint64_t*>(frame_in(set, way) + 1);
}

[[gnu::noinline]] void spile_rt_kernel_return_exit(Context* context, uint64_t* saves) { free_frame(context, saves); }

}  // extern "C"

}  // namespace spile::rt
