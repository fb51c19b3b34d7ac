// The calling thread's slot, and a handler's life in it.
//
// A slot is found by the thread pointer (fs base), read by an instruction: no TLS, no system call. Threads of one process
// have different ones; a new thread that gets a dead one's thread pointer goes on in its slot, so nothing about the
// thread is kept there but sums. (Exception: `owner`'s tid and execname, as they were at the claim, for messages.)
//
// The process's table (abi/arena.h), one entry a thread, is never emptied while the process lives: therefore the
// controller frees a slot only after its process has ended. Keys are `fs base | 1`, because 0 is a legal fs base and
// means an empty entry; 2 marks an entry that is being filled; `key | 2` an entry of a thread that must use the overflow
// slot, which therefore never matches on the inlined path.

#include "runtime/native/native.h"

namespace spile::rt {

namespace {

inline constexpr uint64_t kReserved = 2, kOverflowKey = 2;
inline constexpr uint32_t kMaxProbes = 256;

SPILE_INLINE inline uint64_t thread_key() {
  uint64_t base;
  asm("rdfsbase %0" : "=r"(base));
  return base | 1;
}
SPILE_INLINE inline uint64_t table_index(uint64_t key) { return (key >> 12 ^ key >> 6) & (abi::kThreadTableEntries - 1); }

uint64_t caller_identity() {
  if (!may_call_system()) return ~uint64_t{0};  // a claimer that must not ask who it is
  return static_cast<uint64_t>(system_call(kSysGetpid)) << 32 | static_cast<uint32_t>(system_call(kSysGettid));
}

// A free slot, now the caller's own; the overflow slot when there is none. Its index.
uint64_t claim_slot(abi::ArenaHeader* header, uint64_t key) {
  uint64_t identity = caller_identity();
  uint64_t last = header->slot_count - 1;
  for (uint64_t index = abi::kControllerSlot + 1; index < last; ++index) {
    abi::ThreadSlot* slot = slot_at(header, index);
    if (load_relaxed(&slot->owner) || !compare_and_swap(&slot->owner, uint64_t{0}, identity)) continue;
    slot->thread_pointer = key;
    slot->scratch_top = 0;
    if (may_call_system()) {
      system_call(kSysPrctl, 16 /* PR_GET_NAME */, reinterpret_cast<long>(slot->execname));
    }
    return index;
  }
  return last;
}

// Finds the caller's slot where the table's first place for its key is taken, or makes it. A signal handler that comes
// in between may make a second slot for the same key; one of the two is never found again, which costs only memory.
SPILE_COLD abi::ThreadSlot* find_slot(uint64_t key) {
  abi::ArenaHeader* header = arena_header();
  abi::ProcessTable* table = process_table();
  char* base = bytes_of(header);
  uint64_t index = table_index(key);
  for (uint32_t probe = 0; probe < kMaxProbes; ++probe, index = (index + 1) & (abi::kThreadTableEntries - 1)) {
    abi::ThreadTableEntry* entry = &table->entries[index];
    uint64_t found = load_acquire(&entry->thread_pointer);
    if ((found | kOverflowKey) == (key | kOverflowKey)) {
      return reinterpret_cast<abi::ThreadSlot*>(base + entry->slot_offset);
    }
    if (found || !compare_and_swap(&entry->thread_pointer, uint64_t{0}, kReserved)) continue;
    uint64_t claimed = claim_slot(header, key);
    abi::ThreadSlot* slot = slot_at(header, claimed);
    bool overflow = claimed == header->slot_count - 1;
    if (overflow) store_relaxed(&slot->shared, 1u);
    entry->slot_offset = static_cast<uint64_t>(bytes_of(slot) - base);
    store_release(&entry->thread_pointer, overflow ? key | kOverflowKey : key);
    return slot;
  }
  abi::ThreadSlot* slot = slot_at(header, header->slot_count - 1);
  store_relaxed(&slot->shared, 1u);
  return slot;
}

// The lock's value is the holder's tid, so that the controller can free it when that thread has died, and so that a
// signal handler that interrupted the holder does not wait for itself.
SPILE_COLD bool hold_overflow_slot(abi::ThreadSlot* slot) {
  uint32_t value = may_call_system() ? static_cast<uint32_t>(system_call(kSysGettid)) : ~0u;
  if (may_call_system() && load_relaxed(&slot->lock) == value) {
    __atomic_fetch_add(&slot->skipped[abi::kSkipReentrant], 1, __ATOMIC_RELAXED);
    return false;
  }
  if (take_lock(&slot->lock, value)) return true;
  __atomic_fetch_add(&slot->skipped[abi::kSkipLockTimeout], 1, __ATOMIC_RELAXED);
  return false;
}

// Fills the context's arena, slot and overflow mark. Inlined: one compare where the table's first place is ours.
SPILE_INLINE inline void find_thread(Context* context) {
  abi::ArenaHeader* header = arena_header();
  context->arena = header;
  context->overflow = 0;
  if (spile_rt_in_controller) {
    context->slot = slot_at(header, abi::kControllerSlot);
    return;
  }
  uint64_t key = thread_key();
  abi::ThreadTableEntry* entry = &process_table()->entries[table_index(key)];
  if (likely(load_acquire(&entry->thread_pointer) == key)) {
    context->slot = reinterpret_cast<abi::ThreadSlot*>(bytes_of(header) + entry->slot_offset);
    return;
  }
  context->slot = find_slot(key);
  context->overflow = static_cast<uint16_t>(context->slot->shared);
}

// The controller flips the epoch, makes all CPUs fence (membarrier) and then looks for slots that are busy in the old
// one; so after the store of `busy`, either this thread sees the new epoch, or the controller sees that it is busy.
SPILE_INLINE inline void announce_busy(Context* context) {
  uint32_t epoch = load_relaxed(&context->arena->epoch);
  store_relaxed(&context->slot->busy, 1 + epoch);
  compiler_barrier();
  for (uint32_t now; unlikely((now = load_relaxed(&context->arena->epoch)) != epoch); epoch = now) {
    store_relaxed(&context->slot->busy, 1 + now);
    compiler_barrier();
  }
  context->epoch = static_cast<uint16_t>(epoch);
}

}  // namespace

extern "C" {

SPILE_INLINE bool spile_rt_enter(Context* context) {
  find_thread(context);
  if (spile_rt_in_controller) {
    context->epoch = 0;
    return true;
  }
  if (unlikely(!load_relaxed(&context->arena->enabled))) return false;
  if (unlikely(context->overflow) && !hold_overflow_slot(context->slot)) return false;
  // A signal handler that runs here leaves `busy` as it found it. The overflow slot is only ever left busy by a thread
  // that died in a handler, and its lock has been given to us since.
  if (unlikely(load_relaxed(&context->slot->busy)) && !context->overflow) {
    count_skip(context->slot, abi::kSkipReentrant);
    return false;
  }
  announce_busy(context);
  return true;
}

SPILE_INLINE void spile_rt_leave(Context* context) {
  if (spile_rt_in_controller) return;
  store_release(&context->slot->busy, 0u);
  if (unlikely(context->overflow)) give_lock(&context->slot->lock);
}

SPILE_INLINE bool spile_rt_enter_light(Context* context) {
  find_thread(context);
  context->epoch = 0;
  if (spile_rt_in_controller) return true;
  if (unlikely(!load_relaxed(&context->arena->enabled))) return false;
  if (unlikely(context->overflow)) return hold_overflow_slot(context->slot);
  return true;
}

SPILE_INLINE void spile_rt_leave_light(Context* context) {
  if (unlikely(context->overflow)) give_lock(&context->slot->lock);
}

}  // extern "C"

}  // namespace spile::rt
