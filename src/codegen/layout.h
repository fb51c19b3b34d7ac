#pragma once
// Where every global of a script lies in the arena. Pure arithmetic on the program's types and limits: no LLVM.
//
// globals region      per global that has a copy there:  [lock word, 64-byte line]  value
//                     then per switched probe:           uint64_t, 1 while its condition is true
// private region      per global that only spile reads:  value (sharded ones: what has been merged)
//                     then per sharded scalar:           uint64_t seen[slot_count], what was merged of each slot
//                     exchange | copy of a stack | stray page | ControllerState (abi/arena.h) | slot 0
// a slot's shards     sharded scalars | epoch 0: maps and aggregates | epoch 1: the same
//
// The copy of a sharded global in the globals region is the controller's merged one.

#include "abi/handler.h"
#include "codegen/codegen.h"

namespace spile::codegen {

struct GlobalLayout {
  uint64_t storage = 0;      // from the arena's start: the copy that is shared, or the controller's merged one
  uint64_t lock = 0;         // from the arena's start: the lock word of a kLocked global; 0: none
  uint64_t shard = 0;        // kSharded: from the start of a slot's shards (of epoch 0 where `in_epochs`)
  bool in_epochs = false;    // kSharded maps and aggregates
  uint64_t seen = 0;         // kSharded scalars: from the arena's start
  uint64_t size = 0;         // bytes of the value
  abi::MapShape map{};              // arrays
  abi::AggregateShape aggregate{};  // stats, and arrays of them
};

struct Layout {
  ArenaLayout arena;
  uint32_t string_size = 512;          // bytes of each string: MAXSTRINGLEN rounded up to 8
  uint32_t string_limit = 512;         // MAXSTRINGLEN: where strings are cut off, with the NUL
  uint32_t epoch_stride = 0;
  std::vector<GlobalLayout> globals;   // by global index
  // By probe index: where the controller keeps whether the condition of a probe that is `switched` is true; 0: it is not.
  std::vector<uint64_t> switches;
  // Bytes that entry values take in a ShadowFrame, by probe index: offset of each save.
  std::vector<std::vector<uint32_t>> saves;
};

// Shapes and sizes of one global, no places yet.
GlobalLayout measure_global(const sema::Program& program, const syntax::Global& global, uint32_t string_size);

// An error: the script's arrays are larger than an arena can be.
Result<Layout> make_layout(const sema::Program& program, const LayoutOptions& options);

}  // namespace spile::codegen
