// Entry values of return probes, kept by the thread and what the entry and the return of a call have in common (its frame, or the
// kernel's own number of the call). A probe has an array of sets of kPendingWays pending calls; a hash of the key chooses the
// set. A call is taken by a compare-and-swap of its thread, from 0, and given back by a store of 0; nobody but the thread deals
// with it meanwhile.
//
//   set:  call | call | ... kPendingWays        call:  uint64_t thread | uint64_t key, 0: not taken whole | entry values
//
// A thread that ends inside of a probed function leaves its call behind. In a set that is full, one of the calls makes room
// (counted).

#include "runtime/kernel_maps/kernel_maps.h"
#include "runtime/thread_cells.h"

namespace spile::rt {

struct PendingCall {
  uint64_t thread, key;
};
static_assert(sizeof(PendingCall) == abi::kPendingHead);

// Null only in the eyes of the verifier.
SPILE_INLINE inline char* pending_set(void* map, uint64_t thread, uint64_t key) {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15, kOther = 0xc2b2ae3d27d4eb4f;
  uint32_t index = static_cast<uint32_t>((thread * kFactor ^ key * kOther) >> 32) & (abi::kPendingSets - 1);
  return static_cast<char*>(lookup(map, &index));
}

SPILE_INLINE inline PendingCall* call_at(char* set, uint64_t way, uint32_t size) {
  return reinterpret_cast<PendingCall*>(set + way * (sizeof(PendingCall) + size));
}
SPILE_INLINE inline uint64_t thread_of(PendingCall* call) { return *static_cast<volatile uint64_t*>(&call->thread); }
SPILE_INLINE inline uint64_t key_of(PendingCall* call) { return *static_cast<volatile uint64_t*>(&call->key); }
SPILE_INLINE inline void set_key(PendingCall* call, uint64_t key) { *static_cast<volatile uint64_t*>(&call->key) = key; }

// Returns where the thread's call is; kPendingWays: nowhere.
SPILE_INLINE inline uint64_t way_of(char* set, uint64_t thread, uint64_t key, uint32_t size) {
#pragma clang loop unroll(full)
  for (uint64_t way = 0; way < abi::kPendingWays; ++way) {
    PendingCall* call = call_at(set, way, size);
    if (thread_of(call) == thread && key_of(call) == key) return way;
  }
  return abi::kPendingWays;
}

// The call of a way, after which the verifier knows all ways as one.
SPILE_INLINE inline PendingCall* chosen_call(char* set, uint64_t way, uint32_t size) {
  way = forget(way);
  if (way >= abi::kPendingWays) return nullptr;
  return call_at(set, opaque(way) & (abi::kPendingWays - 1), size);
}

extern "C" {

// Returns the place of the call's entry values; null: another handler has been faster (counted). size: bytes of them, a multiple
// of 8.
SPILE_INLINE void* spile_rt_kernel_return_enter(Context*, void* map, uint64_t key, uint32_t size) {
  uint64_t thread = running_thread();
  char* set = pending_set(map, thread, key);
  if (!set) return nullptr;
  uint64_t way = way_of(set, thread, key, size);  // left by a call whose return the kernel has missed
#pragma clang loop unroll(full)
  for (uint64_t i = 0; i < abi::kPendingWays && way == abi::kPendingWays; ++i) {
    PendingCall* call = call_at(set, i, size);
    if (thread_of(call) == 0 && __sync_val_compare_and_swap(&call->thread, uint64_t{0}, thread) == 0) way = i;
  }
  PendingCall* call = chosen_call(set, way, size);
  if (!call) {
    call = call_at(set, opaque(helper<uint64_t (*)()>(BPF_FUNC_get_prandom_u32)()) & (abi::kPendingWays - 1), size);
    count_skip(abi::kSkipUnwound);
    uint64_t other = thread_of(call);
    set_key(call, 0);
    if (__sync_val_compare_and_swap(&call->thread, other, thread) != other) return nullptr;
  }
  set_key(call, key);
  return call + 1;
}

// Returns the entry values; null: the call was not noted.
SPILE_INLINE void* spile_rt_kernel_return_find(Context*, void* map, uint64_t key, uint32_t size) {
  uint64_t thread = running_thread();
  char* set = pending_set(map, thread, key);
  if (!set) return nullptr;
  PendingCall* call = chosen_call(set, way_of(set, thread, key, size), size);
  return call ? call + 1 : nullptr;
}

SPILE_INLINE void spile_rt_kernel_return_exit(Context*, void* values) {
  PendingCall* call = static_cast<PendingCall*>(values) - 1;
  set_key(call, 0);
  asm volatile("" ::: "memory");
  *static_cast<volatile uint64_t*>(&call->thread) = 0;
}

}  // extern "C"

}  // namespace spile::rt
