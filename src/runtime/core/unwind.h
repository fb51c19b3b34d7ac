#pragma once
// Walking the traced thread's stack, and finding what an address belongs to, by the tables in the arena
// (abi/stack_tables.h). In the controller: those of the process that the handler is about (subject_of), if there is one. Offsets
// are in bytes from the arena's start, if no comment says otherwise. Tables in the arena may have been overwritten, so each
// offset passes in_arena().

#include "abi/stack_tables.h"
#include "runtime/core/core.h"

namespace spile::rt {

// Writes the addresses of the stack's frames, the innermost first, and returns their number, at most `most`; 0: the place has no
// frame (Context::frame_kind). Addresses are return addresses; kExactAddress (abi/record.h) marks those where the thread itself
// is or was: the first, and one that a signal interrupted. The walk ends where the stack can't be read or followed further.
// *cut: set to true where it ends at code of which no module is known; else left alone.
uint32_t walk_stack(Context* context, uint64_t* addresses, uint32_t most, bool* cut);

// The same from where pc, sp and fp say that the thread was; 0 in the controller, unless its handler is about a process.
uint32_t walk_stack_from(Context* context, uint64_t pc, uint64_t sp, uint64_t fp, uint64_t* addresses, uint32_t most, bool* cut);

// Returns the module with code at the address in the abi::ModuleMap at this offset; null: absent. Valid while the handler runs.
const abi::StackModule* find_module(Context* context, uint64_t map, uint64_t address);
// Returns the real return address of the call whose return address, at this place of the process's stack, is `word`: handlers
// that probe returns replace them. For the controller (process/returns.cpp) and the kernel (kernel/stacks.cpp), which can't tell
// such an address by itself; in the kernel the process is the one that runs, and `word` lies in no module.
uint64_t pending_return_address(Context* context, uint64_t map, int64_t pid, uint64_t stack_slot, uint64_t word);
// Returns the offset of the process's abi::ModuleMap; 0: it has none yet.
uint64_t module_map_offset(Context* context);

// Returns the offset, or 0 for one that leads out of the arena.
SPILE_INLINE inline uint64_t in_arena(uint64_t offset) {
  return likely(offset < uint64_t{spile_rt_arena_pages} * abi::kPageSize) ? offset : 0;
}
SPILE_INLINE inline const abi::ModuleTable* table_of(Context* context, const abi::StackModule* module) {
  return reinterpret_cast<const abi::ModuleTable*>(bytes_of(context->arena) + in_arena(module->table));
}
// offset: from the table's start.
template <typename T>
SPILE_INLINE inline const T* part_of(const abi::ModuleTable* table, uint64_t offset) {
  return reinterpret_cast<const T*>(bytes_of(table) + in_arena(offset));
}

}  // namespace spile::rt
