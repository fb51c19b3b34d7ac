// What registers held when a function was entered, for handlers further on in the same call of it (abi/arena.h,
// EntryRecord). A record is found by its frame's CFA, in which no other call can live at the same time: the newest record
// of a CFA is that of the call which has the frame now, if all entries are recorded. Nothing is done at the function's
// return, so whatever way the call ends (longjmp, an exception, a tail call), nothing is left to clear up: the record is
// taken over by the next call at that CFA, or by another one when its set is full.
//
// Any thread may take over any record, while its owner reads it or a signal handler interrupts the filling: a record is
// filled while its tag is odd, and each filling makes another tag, by which a reader knows that what it has read was whole.

#include "abi/point_tables.h"
#include "runtime/core/core.h"

namespace spile::rt {

namespace {

using abi::EntryRecord;

struct FrameKey {
  uint64_t cfa, life;
};

struct EntrySet {
  uint64_t* tags;
  char* records;
};

// A tag: bit 0: being filled; bits 1 to 31: how often it has been; the rest: a hash of the key. 0: free.
inline constexpr uint64_t kFillingBit = 1, kOneFilling = 2, kTagKey = ~uint64_t{0} << 32;

SPILE_INLINE inline uint64_t tag_of(FrameKey key) {
  return ((key.cfa >> 3) + (key.life << 40)) * 0xc2b2ae3d27d4eb4fULL & kTagKey;
}

SPILE_INLINE inline EntrySet set_of(FrameKey key) {
  char* table = bytes_of(arena_header()) + uint64_t{spile_rt_entries_page} * abi::kPageSize;
  char* set = table + abi::entry_set_index(key.cfa, key.life) * abi::entry_set_stride(spile_rt_entry_registers);
  return {reinterpret_cast<uint64_t*>(set), set + abi::kEntryWays * sizeof(uint64_t)};
}
SPILE_INLINE inline EntryRecord* record_in(const EntrySet& set, uint32_t way) {
  return reinterpret_cast<EntryRecord*>(set.records + way * abi::entry_record_size(spile_rt_entry_registers));
}

SPILE_INLINE inline bool is_of(const EntryRecord* record, FrameKey key) {
  return load_relaxed(&record->cfa) == key.cfa && load_relaxed(&record->life) == key.life;
}

// Makes the record the caller's own, to be filled. False: somebody else was faster.
SPILE_INLINE inline bool claim(uint64_t* tag, uint64_t seen) {
  return !(seen & kFillingBit) && compare_and_swap(tag, seen, seen | kFillingBit);
}

// A way for a call that has no record yet: a free one; one of a call deeper in the same stack, which has ended; any.
SPILE_COLD uint32_t take_way(const EntrySet& set, FrameKey key) {
  constexpr uint64_t kOneStack = 8 << 20;
  for (uint32_t way = 0; way < abi::kEntryWays; ++way) {
    if (!load_relaxed(&set.tags[way]) && claim(&set.tags[way], 0)) return way;
  }
  for (uint32_t way = 0; way < abi::kEntryWays; ++way) {
    uint64_t tag = load_acquire(&set.tags[way]);
    const EntryRecord* record = record_in(set, way);
    bool deeper = load_relaxed(&record->life) == key.life && key.cfa - load_relaxed(&record->cfa) < kOneStack;
    if (deeper && claim(&set.tags[way], tag)) return way;
  }
  for (uint32_t tried = 0; tried < abi::kEntryWays; ++tried) {
    uint32_t way = static_cast<uint32_t>((key.cfa >> 4) / abi::kEntrySets + tried) % abi::kEntryWays;
    if (claim(&set.tags[way], load_acquire(&set.tags[way]))) return way;
  }
  return abi::kEntryWays;
}

SPILE_INLINE inline uint32_t find_way(const EntrySet& set, FrameKey key, uint64_t* tag) {
  for (uint32_t way = 0; way < abi::kEntryWays; ++way) {
    *tag = load_acquire(&set.tags[way]);
    bool may_be = !((*tag ^ tag_of(key)) & kTagKey) && *tag && !(*tag & kFillingBit);
    if (may_be && is_of(record_in(set, way), key)) return way;
  }
  return abi::kEntryWays;
}

// Whether the word on the stack is still the return address of that call. Return probes, of whatever controller, may have
// put another in its place; and at the entry of a function that was jumped to it may have been such a one already.
SPILE_INLINE inline bool returns_to(Context* context, uint64_t cfa, uint64_t address) {
  uint64_t word;
  if (!load_word<8>(return_slot_of(cfa), &word)) return false;
  if (likely(word == address)) return true;
  uint32_t now = ~0u, then = ~0u;
  uint64_t real = real_return_address(context->slot, return_slot_of(cfa), word, &now);
  return real && real == real_return_address(context->slot, return_slot_of(cfa), address, &then);
}

}  // namespace

extern "C" {

SPILE_INLINE void spile_rt_entry_keep(uint64_t cfa, uint64_t site_id, const uint64_t* values) {
  FrameKey key = {cfa, load_relaxed(&process_table()->life)};
  if (unlikely(!key.life)) return;
  EntrySet set = set_of(key);
  uint64_t tag;
  uint32_t way = find_way(set, key, &tag);
  if (unlikely(way == abi::kEntryWays) || unlikely(!claim(&set.tags[way], tag))) {
    way = take_way(set, key);
    if (unlikely(way == abi::kEntryWays)) return;
  }
  EntryRecord* record = record_in(set, way);
  store_relaxed(&record->cfa, key.cfa);
  store_relaxed(&record->life, key.life);
  store_relaxed(&record->return_address, *reinterpret_cast<const uint64_t*>(return_slot_of(cfa)));
  store_relaxed(&record->site_id, site_id);
  auto* kept = reinterpret_cast<uint64_t*>(record + 1);
  for (uint32_t i = 0; i < spile_rt_entry_registers; ++i) store_relaxed(&kept[i], values[i]);
  uint64_t fillings = load_relaxed(&set.tags[way]) + kOneFilling;
  store_release(&set.tags[way], tag_of(key) | (fillings & ~kTagKey & ~kFillingBit));
}

[[gnu::noinline]] bool spile_rt_entry_value(Context* context, uint64_t cfa, uint64_t site_id, uint32_t index, uint64_t* value) {
  *value = 0;
  if (controller_gone(context->arena)) return false;  // nobody would catch a fault
  FrameKey key = {cfa, load_relaxed(&process_table()->life)};
  if (!key.life) return false;
  EntrySet set = set_of(key);
  uint64_t tag;
  uint32_t way = find_way(set, key, &tag);
  if (way == abi::kEntryWays) return false;
  const EntryRecord* record = record_in(set, way);
  // Just after the function has returned, its return address is no longer on the stack, and no other call has been made over its
  // frame.
  const bool has_returned = site_id & abi::kEntryHasReturned;
  site_id &= ~abi::kEntryHasReturned;
  uint64_t kept_site = load_relaxed(&record->site_id), address = load_relaxed(&record->return_address);
  uint64_t kept = load_relaxed(&reinterpret_cast<const uint64_t*>(record + 1)[index]);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  if (load_relaxed(&set.tags[way]) != tag || kept_site != site_id) return false;
  if (!has_returned && !returns_to(context, cfa, address)) return false;
  *value = kept;
  return true;
}

}  // extern "C"

}  // namespace spile::rt
