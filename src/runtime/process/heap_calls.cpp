// Which calls of allocators are made by another one (tapset/heap.stp). Without locks and globals of the script: the calls of all
// threads would wait for each other.
//
// A thread notes where the return address of its outermost call is. While that call is under way, a `returned` address of a
// trampoline is there (returns.cpp); then calls deeper in the stack, or at the same place (one that it ends with, by a jump), are
// inner ones. Once it has ended the real address is there, or anything else: so a call that ended unseen (operator new
// has thrown, or the handler at its return was skipped) makes no later one an inner one.

#include "runtime/core/core.h"
#include "runtime/process/spilled_returns.h"

namespace spile::rt {

namespace {

inline constexpr uint64_t kDeepest = 256 << 10;  // bytes of stack that an allocator may use; farther off is another stack

}  // namespace

extern "C" {

// At the entry of a function whose return is probed. Returns 1: the call is an outermost one; 0: another is under way.
[[gnu::noinline]] int64_t spile_fn___heap_call_begins(Context* context) {
  abi::ThreadSlot* slot = context->slot;
  if (load_relaxed(&slot->shared)) return 1;
  const uint64_t here = return_slot_of(context->cfa), outer = slot->heap_call;
  uint64_t word;
  if (outer && outer - here < kDeepest && load_word<8>(outer, &word) && is_returned(word)) return 0;
  slot->heap_call = here;
  return 1;
}

// At the return of an outermost call.
SPILE_INLINE int64_t spile_fn___heap_call_ends(Context* context) {
  context->slot->heap_call = 0;
  return 0;
}

}  // extern "C"

}  // namespace spile::rt
