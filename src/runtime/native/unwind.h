#pragma once
// Walking the traced thread's stack, and finding what an address belongs to, by the tables in the arena
// (abi/stack_tables.h).

#include "abi/stack_tables.h"
#include "runtime/native/native.h"

namespace spile::rt {

// The innermost frame first; addresses after a call are the caller's. kExactAddress (abi/record.h) marks those that are
// not. The number written, at most `most`.
uint32_t walk_stack(Context* context, uint64_t* addresses, uint32_t most);

// The current process's module with code at the address, or null.
const abi::StackModule* find_module(Context* context, uint64_t address);
uint64_t module_map_offset(Context* context);

// An offset that stands in the arena: one that leads out of it is 0.
SPILE_INLINE inline uint64_t in_arena(uint64_t offset) {
  return likely(offset < uint64_t{spile_rt_arena_pages} * abi::kPageSize) ? offset : 0;
}
SPILE_INLINE inline const abi::ModuleTable* table_of(Context* context, const abi::StackModule* module) {
  return reinterpret_cast<const abi::ModuleTable*>(bytes_of(context->arena) + in_arena(module->table));
}
template <typename T>
SPILE_INLINE inline const T* part_of(const abi::ModuleTable* table, uint64_t offset) {
  return reinterpret_cast<const T*>(bytes_of(table) + in_arena(offset));
}

}  // namespace spile::rt
