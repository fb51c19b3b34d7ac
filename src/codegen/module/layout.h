#pragma once
// Where every global of a script lies in the arena. Pure arithmetic on the program's types and limits: no LLVM.
//
// globals region      per global that has a copy there:  value; of a locked one 64-byte lines: lock word, 12 bytes unused, value
//                     of a script that is_mixed(): those that both sides change come last, in pages of their own
//                     then per switched probe:           uint64_t, 1 while its condition is true
// private region      per global that only spile reads:  value (sharded ones: what has been merged)
//                     then per sharded scalar:           uint64_t seen[slot_count], what was merged of each slot
//                     exchange | copy of a stack | stray page | ControllerState (abi/arena.h) | slot 0
// a slot's shards     sharded scalars | epoch 0: maps and aggregates | epoch 1: the same
//
// The copy of a sharded global in the private region is the controller's merged one. The arena's first page is its header, so
// `storage`, `lock` or `seen` of 0 means absent; `shard` may be 0.

#include "abi/handler.h"
#include "codegen/terms/compiled_script.h"

namespace spile::codegen {

// Offsets in bytes. make_kernel_layout() (lower_kernel.h) gives `lock` and `map` another meaning, and fills `name_size` and no
// other offset.
struct GlobalLayout {
  uint64_t storage = 0;      // from the arena's start: the copy that is shared, or the controller's merged one
  uint64_t lock = 0;         // from the arena's start: the lock word of a kLocked global; 0: none
  uint32_t stripes = 1;      // kStriped: arrays with a lock each, a power of two, of which a thread's number picks one
  uint64_t stripe_size = 0;  // kStriped: from one's storage, or lock, to the next one's
  uint64_t shard = 0;        // kSharded: from the start of a slot's shards (of epoch 0 where `in_epochs`)
  bool in_epochs = false;    // kSharded maps and aggregates
  uint64_t seen = 0;         // kSharded scalars: from the arena's start
  uint64_t size = 0;         // bytes of the value
  // over the kernel's maps: bytes of the array's key, which is execname() everywhere; 0: strings are as long as all others
  uint32_t name_size = 0;
  abi::MapShape map{};              // of arrays; else all 0
  abi::AggregateShape aggregate{};  // of stats, and arrays of them; else all 0
};

struct Layout {
  ArenaLayout arena;
  uint32_t string_size = 512;         // bytes of each string: MAXSTRINGLEN rounded up to 8
  uint32_t string_limit = 512;        // MAXSTRINGLEN: where strings are cut off, with the NUL
  uint32_t epoch_stride = 0;          // bytes of one epoch in a slot's shards
  std::vector<GlobalLayout> globals;  // by global index
  // By probe index: offset from the arena's start of the word that is 1 while the condition of a `switched` probe is true; 0: the
  // probe is not `switched`.
  std::vector<uint64_t> switches;
  // By probe index, then by entry value: its offset in bytes from the probe's first one. Behind a ShadowFrame the entry values of
  // all return probes of a site follow one another.
  std::vector<std::vector<uint32_t>> saves;
};

// Computes shapes and size of one global; its offsets stay 0. string_size: bytes of each string, a multiple of 8.
GlobalLayout measure_global(const sema::Program& program, const syntax::Global& global, uint32_t string_size);

// Places all globals and slots of a script whose handlers share one arena. An error: the arena would be larger than 8 TiB, or one
// slot than 4 GiB.
Result<Layout> make_layout(const sema::Program& program, const LayoutOptions& options);

// Whether a script has handlers in processes and in the kernel.
bool is_mixed(const sema::Program& program);
// Of a script that is_mixed(): the arena that spile and processes see, and that of handlers in the kernel, which spile has at
// ArenaLayout::kernel_offset of the first.
struct MixedLayout {
  // what the kernel alone changes lies behind kernel_offset; both have the tables of modules at the same offset
  Layout processes;
  Layout kernel;  // what both sides change lies at abi::kKernelSharedBase
  std::vector<KernelCode::Copy> copies;
};
Result<MixedLayout> make_mixed_layout(const sema::Program& program, const LayoutOptions& options);

// Whether handlers in the kernel work over an arena, rather than over the kernel's maps, for which the script's globals may be
// too large.
bool works_over_arena(const sema::Program& program, const LayoutOptions& options);

}  // namespace spile::codegen
