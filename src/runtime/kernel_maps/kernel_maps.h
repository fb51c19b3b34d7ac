#pragma once
// What the files of kernel_maps/ share: the kernel's helper functions (bpf-helpers(7)), the maps and data that every handler
// uses, levels: up to abi::kKernelLevels handlers may run on one CPU at a time, each interrupted by the next, with scratch memory
// and shards of its own.
//
// All of kernel_maps/ is one translation unit (module.cpp) and every function is always_inline: a handler is one eBPF function.
// The code must convince the kernel's verifier, which follows every path of every handler:
//   - a looked-up pointer is tested before use; an index is cut to its range right before it is used;
//   - bytes of variable number are moved by helpers, not by loops; loops are few, short and bounded;
//   - what Context holds ends up in registers: a pointer that was stored elsewhere and loaded is a plain number to the verifier.
// Division is unsigned in eBPF before Linux 6.6: the lowering expands signed ones.

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/kernel.h"
#include "runtime/interface.h"
#include "runtime/kernel_identity.h"

#define SPILE_INLINE [[gnu::always_inline]]

namespace spile::rt {

extern "C" {
// Maps, created by the loader.
extern char spile_map_state, spile_map_scratch, spile_map_ring;
// Data of the object. Volatile: the controller writes them behind the optimizer's back.
[[gnu::section(".data.control")]] extern volatile abi::KernelControl spile_kernel_control;
[[gnu::section(".rodata.constants")]] extern const volatile abi::KernelPrograms spile_kernel_programs;
}

// lookup returns the element's value, valid until the handler ends; null: absent. update, remove and the reading functions return
// 0, or -errno; `flags` are BPF_ANY, BPF_NOEXIST, BPF_EXIST.
SPILE_INLINE inline void* lookup(void* map, const void* key) {
  return helper<void* (*)(void*, const void*)>(BPF_FUNC_map_lookup_elem)(map, key);
}
SPILE_INLINE inline long update(void* map, const void* key, const void* value, uint64_t flags) {
  return helper<long (*)(void*, const void*, const void*, uint64_t)>(BPF_FUNC_map_update_elem)(map, key, value, flags);
}
SPILE_INLINE inline long remove(void* map, const void* key) {
  return helper<long (*)(void*, const void*)>(BPF_FUNC_map_delete_elem)(map, key);
}
// Copies `size` bytes of kernel memory; of maps and of the record, too, as it copies bytes of variable number. On failure `to` is
// zeros.
SPILE_INLINE inline long read_kernel(void* to, uint32_t size, const void* from) {
  return helper<long (*)(void*, uint32_t, const void*)>(BPF_FUNC_probe_read_kernel)(to, size, from);
}
SPILE_INLINE inline long read_user(void* to, uint32_t size, const void* from) {
  return helper<long (*)(void*, uint32_t, const void*)>(BPF_FUNC_probe_read_user)(to, size, from);
}
// Copies a string of at most `size` bytes with the NUL, cut off there; returns its length with the NUL, or -errno.
SPILE_INLINE inline long read_kernel_string(void* to, uint32_t size, const void* from) {
  return helper<long (*)(void*, uint32_t, const void*)>(BPF_FUNC_probe_read_kernel_str)(to, size, from);
}
SPILE_INLINE inline long read_user_string(void* to, uint32_t size, const void* from) {
  return helper<long (*)(void*, uint32_t, const void*)>(BPF_FUNC_probe_read_user_str)(to, size, from);
}
// The optimizer may not carry what it knows of `value` across: it would drop checks that the verifier needs.
template <typename T>
SPILE_INLINE inline T opaque(T value) {
  asm volatile("" : "+r"(value));
  return value;
}

// The same value, of which the verifier knows nothing any more but that it fits 32 bits: paths on which it took values of its own
// become one path again. Of a word that handlers only read twice, the verifier does not know that it is the same.
SPILE_INLINE inline uint64_t forget(uint64_t value) {
  uint64_t noise = opaque(static_cast<uint64_t>(spile_kernel_control.enabled));
  value = opaque(value ^ noise) ^ noise;
  return opaque(value & 0xffffffff);
}

// What Context's fields for places with an arena hold here. REQUIRES: spile_rt_enter has returned true (enter_light sets the
// shard alone).
SPILE_INLINE inline abi::KernelState*& state_of(Context* context) { return reinterpret_cast<abi::KernelState*&>(context->arena); }
SPILE_INLINE inline char*& scratch_of(Context* context) { return reinterpret_cast<char*&>(context->slot); }
SPILE_INLINE inline uint16_t& shard_of(Context* context) { return context->epoch; }
SPILE_INLINE inline uint32_t level_of(Context* context) { return shard_of(context) % abi::kKernelLevels; }
// Bytes of scratch memory in use. A number of eight bytes, of which the verifier remembers what is stored.
SPILE_INLINE inline uint64_t& frame_top_of(Context* context) { return context->cfa; }

// Returns this handler's element of a per-CPU array with one for each shard; null only in the eyes of the verifier.
SPILE_INLINE inline void* shard_cell(Context* context, void* map) {
  uint32_t shard = shard_of(context);
  return lookup(map, &shard);
}

// Returns this CPU's state; null only in the eyes of the verifier.
SPILE_INLINE inline abi::KernelState* cpu_state() {
  uint32_t zero = 0;
  return static_cast<abi::KernelState*>(lookup(&spile_map_state, &zero));
}

// Counts a skip on this CPU. REQUIRES: the reason is below the size of KernelState::skipped.
SPILE_INLINE inline void count_skip(abi::SkipReason reason) {
  if (abi::KernelState* state = cpu_state()) __sync_fetch_and_add(&state->skipped[reason], 1);
}

// MapShape::buckets, which hashes here have no use for: whether the key ends in the shard (abi/kernel.h).
SPILE_INLINE inline bool is_sharded(const MapShape* shape) { return shape->buckets != 0; }

}  // namespace spile::rt
