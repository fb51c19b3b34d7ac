#pragma once
// What the lowering and the runtime's bitcode share in memory while a handler runs. Freestanding; both sides compile
// against this file (runtime/interface.h uses these names), so the two can't drift apart.

#include <stddef.h>
#include <stdint.h>

#include "abi/arena.h"

namespace spile::abi {

inline constexpr uint32_t kNoDepth = ~uint32_t{0};  // of a stack of pending returns

// One per running handler, on its stack; arena, slot and kernel_context are filled by enter, the rest by the lowering.
struct Context {
  ArenaHeader* arena;        // native; null in bpf
  ThreadSlot* slot;          // native
  void* kernel_context;      // bpf: the program's context
  uint64_t site_id;          // where the site's group needs it
  uint64_t cfa;              // of the probed function; 0 where there is none
  uint32_t probe;            // index of the probe whose body runs (goes into records)
  int32_t actions_left;      // MAXACTION, counted down by the lowering in loops and calls
  int32_t nesting_left;      // MAXNESTING
  uint16_t epoch;            // native: whose shards this handler writes
  uint8_t overflow;          // native: 1 where the slot is the overflow slot
  uint8_t held;              // native: 1 where its lock is held until leave
  uint32_t frame_kind;       // native: FrameKind (abi/stack_tables.h); the rest is valid unless it is kNoFrame
  uint32_t pending;          // native: the slot's shadow_depth when a return's frame was found on top; else kNoDepth. bpf: frame_top_of
  uint64_t user_pc, user_sp, user_fp;  // of the probed place: program counter, stack and frame pointer
  uint64_t call_number;      // native: of the system call that is probed
};
static_assert(sizeof(Context) == 96);

// A map's constant properties; codegen emits one constant per array.
struct MapShape {
  uint32_t key_size;      // most bytes a packed key takes, a multiple of 8
  uint32_t value_size;    // bytes, a multiple of 8: 8 for long, string size, or the aggregate with its buckets
  uint32_t capacity;      // most elements
  uint32_t wraps;         // 1: the oldest element makes room (a%[N])
  uint32_t key_count;
  uint32_t string_keys;   // bit n: the n-th key is a string
  uint32_t buckets;       // power of two, >= 2 * capacity (native: hash index)
  uint32_t aggregate;     // AggregateFeature bits when the value is one, else 0
};
static_assert(sizeof(MapShape) == 32);

// An aggregate's constant properties.
struct AggregateShape {
  uint32_t features;      // AggregateFeature bits
  uint32_t bits;          // @variance's precision
  int64_t low, high, width;  // of @hist_linear
  uint32_t linear_buckets;
  uint32_t size;          // bytes of Aggregate and its buckets
};
static_assert(sizeof(AggregateShape) == 40);

}  // namespace spile::abi
