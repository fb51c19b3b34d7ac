// Where the controller's handlers may read and write. They work on memory that traced processes can fill with anything, so
// an address that was made from what is there may lead anywhere: in spile, every access whose place is not certain when it
// is compiled asks here first (codegen/machine/confine.cpp puts the calls in; assembly asks by itself). Handlers of traced
// processes have nothing of this: they are in memory that their own process can write anyway, and reach the arena's parts by
// numbers that are kept in range (map.h).
//
// Allowed are the arena, of which spile sees its own private memory where the shared file has the controller's slot and
// state; the stack of the handlers that run now; and, for reading, the image. Anything else is led to the stray page: what is
// read there is nonsense, and what is written is read by nobody.

#include "runtime/core/core.h"

namespace spile::rt {

namespace {

SPILE_INLINE inline bool lies_within(uint64_t at, uint64_t size, uint64_t begin, uint64_t end) {
  return at >= begin && at < end && size <= end - at;
}

}  // namespace

[[gnu::noinline]] bool is_confined(const void* place, uint64_t size, bool writes) {
  uint64_t at = reinterpret_cast<uint64_t>(place), arena = spile_cells.arena;
  if (likely(lies_within(at, size, arena, arena + uint64_t{spile_rt_arena_pages} * abi::kPageSize))) return true;
  auto* header = reinterpret_cast<abi::ArenaHeader*>(arena);
  const abi::ControllerState* state = controller_state_before(slot_at(header, abi::kControllerSlot));
  if (lies_within(at, size, reinterpret_cast<uint64_t>(__builtin_frame_address(0)), state->stack_end)) return true;
  uint64_t image = reinterpret_cast<uint64_t>(&spile_cells);
  return !writes && lies_within(at, size, image, image + state->image_size);
}

extern "C" [[gnu::noinline]] void* spile_rt_confine(const void* place, uint64_t size, bool writes) {
  if (likely(is_confined(place, size, writes))) return const_cast<void*>(place);
  auto* header = reinterpret_cast<abi::ArenaHeader*>(static_cast<uintptr_t>(spile_cells.arena));
  return bytes_of(slot_at(header, abi::kControllerSlot)) - abi::kPageSize - abi::kStrayPageSize;
}

}  // namespace spile::rt
