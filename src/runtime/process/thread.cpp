// The calling thread's slot, and a handler's life in it.
//
// A slot is found by the thread pointer, read by an instruction: no TLS, no system call. Threads of one
// process have different ones; a new thread that gets a dead one's thread pointer goes on in its slot, so nothing about
// the thread is kept there but sums. (Exception: `owner`'s tid, as it was at the claim.) Who the thread is says its
// ThreadIdentity, which the controller keeps right.
//
// The process's table (abi/arena.h) has an entry for each thread. When a thread has ended, the controller marks its entry as
// gone and gives its slot back, unless returns are still pending in it. Keys are `thread pointer + 1`, since 0 means an empty
// entry; a key with kOverflowEntry, of a thread that must use the overflow slot, never matches on the inlined path.
//
// Reading the thread pointer itself may take long (x86_64/arch.h: 2.5 ns). By the psABI a word of memory has it too, and takes
// nothing. So once a thread was seen where that holds, the inlined path loads the word; it is only used when it is a key in the
// table. A process in which it does not hold for some thread (Go without cgo) stays with the thread pointer itself for good; so
// does one with a thread whose pointer is 0 once that of others holds (at a program's start it is 0 for a while).

#include "runtime/core/core.h"
#include "runtime/process/spilled_returns.h"

namespace spile::rt {

namespace {

inline constexpr uint64_t kReserved = 1;  // an entry that is being filled
inline constexpr uint32_t kMaxProbes = 256;
enum : uint32_t { kSelfUnknown, kSelfHolds, kSelfBroken };  // ProcessTable::self_pointers

// Decides for the process whether load_self_pointer() may stand for read_thread_pointer(), at the first hit of each thread.
void check_self_pointer(abi::ArenaHeader* header, abi::ProcessTable* table, uint64_t base) {
  if (base == 0 || load_relaxed(&table->self_pointers) == kSelfBroken || controller_gone(header)) return;
  uint64_t word;
  bool holds = load_word<8>(base, &word) && word == base;
  store_relaxed(&table->self_pointers, uint32_t{holds ? kSelfHolds : kSelfBroken});
}

struct Caller {
  uint64_t pid, tid;
  uint64_t identity;  // as in ThreadSlot
};

Caller unknown_caller(abi::ProcessTable* table) {
  constexpr uint64_t kFirst = abi::kFirstThread + 1;
  uint64_t pid = load_relaxed(&table->pid);
  abi::Question question;
  question.what = abi::Question::kThread;
  if (!ask_controller(&question)) return {~0u, ~0u, 0};
  uint64_t tid = static_cast<uint32_t>(question.values.tid), own = static_cast<uint32_t>(question.values.pid);
  if (pid == 0) return {own, tid, 0};
  // Threads are introduced with their thread pointers at birth, but that the first may set its own later.
  bool first = tid == own && load_relaxed(&table->borrowers) == 0;
  return {pid, tid, first ? kFirst : 0};
}

// Who has this thread pointer, as the controller has noted. Identity 0: it has not.
Caller find_known_caller(abi::ProcessTable* table, uint64_t base) {
  uint64_t key = abi::thread_table_key(base);
  uint64_t index = abi::thread_table_index(base);
  for (uint32_t probe = 0; probe < kMaxProbes; ++probe, index = (index + 1) & (abi::kThreadTableEntries - 1)) {
    const abi::ThreadIdentity* identity = &table->identities[index];
    uint64_t found = load_relaxed(&identity->thread_pointer);
    if (found == key) return {load_relaxed(&table->pid), load_relaxed(&identity->tid), 1 + index};
    if (found == 0) break;
  }
  return {0, 0, 0};
}

Caller find_caller(abi::ProcessTable* table, uint64_t base) {
  Caller known = find_known_caller(table, base);
  return known.identity != 0 ? known : unknown_caller(table);
}

// Whether several threads have the caller's thread pointer (clone(2) without CLONE_SETTLS): a slot would mix what they do, so
// they take turns in the overflow slot.
bool is_shared(const Caller& caller) { return caller.identity != 0 && caller.tid == 0; }

// The lowest one that has no owner, of those that are mapped; now the caller's own. kOverflowSlot: all have owners.
uint64_t claim_mapped_slot(abi::ArenaHeader* header, uint64_t identity) {
  uint64_t end = slots_end();
  for (uint64_t word = 0; word * 64 < end; ++word) {
    for (uint64_t free = ~load_relaxed(&header->taken[word]); free; free &= free - 1) {
      uint64_t index = word * 64 + static_cast<uint64_t>(__builtin_ctzll(free));
      if (index < abi::kFirstSlot) continue;
      if (index >= end) return abi::kOverflowSlot;
      abi::ThreadSlot* slot = slot_at(header, index);
      if (load_relaxed(&slot->owner) || !compare_and_swap(&slot->owner, uint64_t{0}, identity)) continue;
      __atomic_fetch_or(&header->taken[word], free & -free, __ATOMIC_RELAXED);
      return index;
    }
  }
  return abi::kOverflowSlot;
}

// Stops this thread until the controller has mapped more slots. False: it can't.
bool ring_for_slots(abi::ArenaHeader* header) {
  uint64_t word;
  if (controller_gone(header) || load_relaxed(&inherited_state()->slots_are_all)) return false;
  (void)load_word<8>(abi::kSlotBell, &word);
  return true;
}

// A free slot, now the caller's own; the overflow slot when all have owners. Its index.
uint64_t claim_slot(abi::ArenaHeader* header, uint64_t base) {
  Caller caller = find_caller(process_table(), base);
  if (is_shared(caller)) return abi::kOverflowSlot;
  uint64_t identity = caller.pid << 32 | (caller.tid & ~0u);
  uint64_t index;
  constexpr int kMostRings = 8;  // others may take what was mapped for us
  for (int rings = 0; (index = claim_mapped_slot(header, identity)) == abi::kOverflowSlot; ++rings) {
    if (rings == kMostRings || !ring_for_slots(header)) return index;
  }
  abi::ThreadSlot* slot = slot_at(header, index);
  // Pending returns of a dead process are none of this one's. (Beyond its depth the memory is zero, and better left
  // untouched.)
  uint64_t depth = slot->shadow_depth;
  if (depth > spile_rt_shadow_capacity) depth = spile_rt_shadow_capacity;
  if (depth) zero_bytes(bytes_of(slot) + spile_rt_shadow_offset, spile_rt_shadow_stride * depth);
  slot->thread_pointer = abi::thread_table_key(base);
  slot->shadow_depth = 0;
  slot->spilling = slot->spill_wait = slot->given_up = 0;
  slot->walk = 0;
  slot->heap_call = 0;
  slot->scratch_top = 0;
  slot->identity = caller.identity;
  slot->first_noted = slot->noted_calls;
  slot->noted_owner = identity;
  for (abi::PendingCall& call : slot->calls) call.stack_pointer = 0;
  return index;
}

// A forked child has a copy of its parent's spilled returns, and an empty table.
void note_spilled(abi::ProcessTable* table) {
  if (!spile_rt_shadow_capacity || !load_relaxed(&inherited_state()->spills_returns)) return;
  store_relaxed(&table->spills_returns, 1u);
}

// The thread's entry, or one where it may be put: the first that an ended thread has left, or the empty one at the end. found:
// what it has. Null: the table is full.
abi::ThreadTableEntry* find_entry(abi::ProcessTable* table, uint64_t base, uint64_t* found) {
  uint64_t key = abi::thread_table_key(base);
  uint64_t index = abi::thread_table_index(base);
  abi::ThreadTableEntry* free = nullptr;
  uint64_t present = 0;
  for (uint32_t probe = 0; probe < kMaxProbes; ++probe, index = (index + 1) & (abi::kThreadTableEntries - 1)) {
    abi::ThreadTableEntry* entry = &table->entries[index];
    present = load_acquire(&entry->thread_pointer);
    bool is_own = (present & ~abi::kOverflowEntry) == key;
    if (is_own || ((present == 0 || present == abi::kGoneEntry) && !free)) {
      free = entry;
      *found = present;
    }
    if (is_own || present == 0) break;
  }
  return free;
}

// Finds the caller's slot by probing, or makes it. A signal handler that comes while the place is reserved makes a slot
// further on, which is never found again and costs only memory. One that comes before the reservation takes the very
// place that was seen empty: that slot must be used, or a return would look for its frame in it in vain.
SPILE_COLD abi::ThreadSlot* find_slot() {
  constexpr int kMostTries = 64;  // other threads take the same place
  abi::ArenaHeader* header = arena_header();
  abi::ProcessTable* table = process_table();
  char* arena = bytes_of(header);
  uint64_t base = read_thread_pointer();
  uint64_t key = abi::thread_table_key(base);
  // Each of its hits would be a fault.
  if (unlikely(base == 0) && load_relaxed(&table->self_pointers) == kSelfHolds)
    store_relaxed(&table->self_pointers, uint32_t{kSelfBroken});
  for (int tries = 0; tries < kMostTries; ++tries) {
    uint64_t found;
    abi::ThreadTableEntry* entry = find_entry(table, base, &found);
    if (!entry) break;
    if (found == (key | abi::kOverflowEntry)) break;  // perhaps by the controller, whose entry has the offset that it had
    if (found == key) return reinterpret_cast<abi::ThreadSlot*>(arena + entry->slot_offset);
    if (controller_gone(header)) break;  // nothing will be counted in a slot, and to ask who this is may end the process
    if (!compare_and_swap(&entry->thread_pointer, found, kReserved)) continue;
    uint64_t claimed = claim_slot(header, base);
    abi::ThreadSlot* slot = slot_at(header, claimed);
    bool overflow = claimed == abi::kOverflowSlot;
    if (overflow) store_relaxed(&slot->shared, 1u);
    entry->slot_offset = static_cast<uint64_t>(bytes_of(slot) - arena);
    compare_and_swap(&entry->thread_pointer, kReserved, overflow ? key | abi::kOverflowEntry : key);
    // The controller may not have seen this entry when it noted that the thread pointer is shared now.
    if (!overflow && is_shared(find_known_caller(table, base))) {
      store_release(&entry->thread_pointer, key | abi::kOverflowEntry);
      break;
    }
    check_self_pointer(header, table, base);
    note_spilled(table);
    return slot;
  }
  abi::ThreadSlot* slot = slot_at(header, abi::kOverflowSlot);
  store_relaxed(&slot->shared, 1u);
  return slot;
}

// The lock's value is the holder's tid: a signal handler that interrupted the holder does not wait for itself, and the
// controller frees the lock of a thread that was killed (engine/space/thread_identities.h).
SPILE_COLD bool lock_overflow_slot(abi::ThreadSlot* slot) {
  if (controller_gone(arena_header())) return false;
  abi::ProcessTable* table = process_table();
  uint32_t value = static_cast<uint32_t>(find_caller(table, read_thread_pointer()).tid);
  if (value == 0) value = ~0u;
  if (value != ~0u && load_relaxed(&slot->lock) == value) {
    __atomic_fetch_add(&slot->skipped[abi::kSkipReentrant], 1, __ATOMIC_RELAXED);
    return false;
  }
  if (take_lock(&slot->lock, value)) return true;
  __atomic_fetch_add(&slot->skipped[abi::kSkipLockTimeout], 1, __ATOMIC_RELAXED);
  return false;
}

SPILE_INLINE inline bool hold_overflow_slot(Context* context) { return context->held = lock_overflow_slot(context->slot); }

// Fills the context's arena, slot and overflow mark. Inlined: one compare where the table's first place is ours.
SPILE_INLINE inline void find_thread(Context* context) {
  abi::ArenaHeader* header = arena_header();
  context->arena = header;
  context->overflow = context->held = 0;
  if (spile_rt_in_controller) {
    context->slot = slot_at(header, abi::kControllerSlot);
    return;
  }
  abi::ProcessTable* table = process_table();
  if (likely(load_to_compare(&table->self_pointers) == kSelfHolds)) {
    uint64_t base;
    if (likely(load_self_pointer(&base))) {
      abi::ThreadTableEntry* entry = &table->entries[abi::thread_table_index(base)];
      if (likely(load_to_compare(&entry->thread_pointer) == base + 1)) {
        compiler_barrier();
        context->slot = reinterpret_cast<abi::ThreadSlot*>(bytes_of(header) + entry->slot_offset);
        return;
      }
    }
  }
  context->slot = find_slot();
  context->overflow = load_relaxed(&context->slot->shared) != 0;
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
  context->epoch = epoch & 1;  // whatever the arena says, it selects one of two
}

}  // namespace

extern "C" {

SPILE_INLINE bool spile_rt_enter(Context* context) {
  find_thread(context);
  if (spile_rt_in_controller) {
    context->epoch = 0;
    return true;
  }
  if (unlikely(!load_to_compare(&context->arena->enabled))) return false;
  // Nobody would read what it does; the light ones cost less than looking here.
  if (controller_gone(context->arena)) {
    count_skip(context->slot, abi::kSkipControllerGone);
    return false;
  }
  if (unlikely(context->overflow) && !hold_overflow_slot(context)) return false;
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
  if (unlikely(context->held)) give_lock(&context->slot->lock);
}

SPILE_INLINE bool spile_rt_enter_light(Context* context) {
  find_thread(context);
  context->epoch = 0;
  if (spile_rt_in_controller) return true;
  if (unlikely(!load_to_compare(&context->arena->enabled))) return false;
  if (unlikely(context->overflow)) return hold_overflow_slot(context);
  return true;
}

SPILE_INLINE void spile_rt_leave_light(Context* context) {
  if (unlikely(context->held)) give_lock(&context->slot->lock);
}

}  // extern "C"

}  // namespace spile::rt
