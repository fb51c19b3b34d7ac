#pragma once
// The data that the lowering and the runtime's bitcode share in memory while a handler runs. Freestanding; both sides compile
// against this file (runtime/interface.h uses these names), so the two can't drift apart.

#include <stddef.h>
#include <stdint.h>

#include "abi/arena.h"

namespace spile::abi {

inline constexpr uint32_t kMatchHead = 136;  // bytes of what a handler remembers of its last =~, before a copy of the text

inline constexpr uint32_t kNoDepth = ~uint32_t{0};    // of a stack of pending returns
inline constexpr uint32_t kAbandoned = kNoDepth - 1;  // of a frame that stays where it is, as the controller has died

// One per running handler, on its stack. The runtime's enter fills arena, slot, epoch, overflow and held (bpf: kernel_context);
// the lowering fills the rest. "native" fields are not valid in bpf, nor the reverse.
struct Context {
  ArenaHeader* arena;    // native; null in bpf
  ThreadSlot* slot;      // native
  void* kernel_context;  // bpf: the program's context
  uint64_t site_id;      // index into Program::sites, where the site's group needs it
  uint64_t cfa;          // of the probed function; 0: unknown. bpf: frame_top_of
  uint32_t probe;        // index of the probe whose body runs (goes into records)
  int32_t actions_left;  // of MAXACTION, counted down by code of the lowering; below 0: a script error
  int32_t nesting_left;  // of MAXNESTING, counted down by recursive functions; below 0: a script error
  uint16_t epoch;        // native: whose shards this handler writes
  uint8_t overflow;      // native: 1 where the slot is the overflow slot
  uint8_t held;          // native: 1 where its lock is held until leave. Kernel: the handler's level
  uint32_t frame_kind;   // native: FrameKind (abi/stack_tables.h); kNoFrame: user_pc, user_sp and user_fp are not valid
  uint32_t pending;      // native: the slot's shadow_depth when a return's frame was found on top; else kNoDepth or kAbandoned
  uint64_t user_pc, user_sp, user_fp;  // program counter (at a return: the caller's), stack and frame pointer of the probed place
  uint64_t call_number;                // native: of the system call that is probed
};
static_assert(sizeof(Context) == 96);

// Bytes of a long and of the number of its updates, by which what a merge can't keep is counted. Any string is longer.
constexpr uint32_t kCountedLong = 16;

// A map's constant properties; codegen emits one constant per array. Sizes are in bytes.
struct MapShape {
  uint32_t key_size;  // most bytes a packed key takes, a multiple of 8
  // A multiple of 8: 8 for a long, kCountedLong for one with the number of its updates behind it, the string size, or an
  // aggregate with its buckets.
  uint32_t value_size;
  uint32_t capacity;  // most elements
  uint32_t wraps;     // 1: the oldest element makes room (a%[N])
  uint32_t key_count;
  uint32_t string_keys;  // bit n: the n-th key is a string
  // native: of the hash index, map_buckets() (map_layout.h); bpf: 1: keys end in their shard (kernel.h), else 0; cells of
  // threads: their sets
  uint32_t buckets;
  uint32_t aggregate;  // AggregateFeature bits when the value is one, else 0
};
static_assert(sizeof(MapShape) == 32);

// An aggregate's constant properties.
struct AggregateShape {
  uint32_t features;         // AggregateFeature bits
  uint32_t unused;           // 0: what follows has 64 bits
  int64_t low, high, width;  // of @hist_linear
  uint32_t linear_buckets;   // without underflow and overflow; 0: no @hist_linear
  uint32_t size;             // bytes of Aggregate and its buckets
};
static_assert(sizeof(AggregateShape) == 40);

}  // namespace spile::abi
