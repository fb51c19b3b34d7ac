// Thread-local variables of libraries. The word at kThreadVector from the thread pointer is the thread's vector of blocks ("ELF
// Handling For Thread-Local Storage"), in glibc's shape:
//
//   entry -1  how many modules it has room for
//   entry  0  the generation
//   entry  n  16 bytes: address of the block of module n (-1: not allocated yet), what to free
//
// glibc allocates a block when the thread first uses a variable of the module, and renews the vector then too: until that
// happens in this thread, its entry may lack, or be that of a library that had the number before and has been closed.

#include "runtime/core/core.h"

namespace spile::rt {

extern "C" {

uint64_t spile_rt_thread_pointer() { return read_thread_pointer(); }

uint64_t spile_rt_thread_block(Context* context, uint64_t slot) {
  constexpr uint64_t kEntry = 16, kUnallocated = ~uint64_t{0};
  uint64_t module, vector, count, block;
  if (controller_gone(context->arena)) return 0;
  if (!load_word<8>(slot, &module) || module == 0 || !load_word<8>(read_thread_pointer() + kThreadVector, &vector) || vector == 0)
    return 0;
  if (!load_word<8>(vector - kEntry, &count) || module > count || !load_word<8>(vector + kEntry * module, &block)) return 0;
  return block == kUnallocated ? 0 : block;
}
}

}  // namespace spile::rt
