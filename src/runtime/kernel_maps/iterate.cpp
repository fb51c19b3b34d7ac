// Visits of an array's elements: foreach, and slices. Each statement that visits has a map of the kernel with an entry for each
// element (VisitEntry): the keys are copied there first, so that the statement may change the array, and sorted there.
//
// All loops are functions that the kernel calls for each element of a map (codegen/module/kernel_loops.h), which the lowering
// makes, one for each statement, from collect, sort_pass and sort_step here. Where they stand lies in Visit, in scratch memory:
// the verifier knows nothing of it, and an entry is looked up by its number, so that no number needs to be proved. No other
// handler visits the array meanwhile: its lock is held.

#include "runtime/kernel_maps/kernel_maps.h"
#include "runtime/sort_statistic.h"

namespace spile::rt {

struct VisitEntry {
  uint32_t order[2];  // of the entry's place: numbers of entries, sorted; each pass reads one half and writes the other
  int64_t number;     // by which the element is sorted
  // char key[key_size]; char text[spile_rt_string_size]: the value of an array of strings
};
static_assert(sizeof(VisitEntry) == abi::kKernelVisitEntry);

struct Visit {
  uint64_t count, position;
  uint64_t width, begin, left, right, at;  // of the merge: runs of `width`, of which those from `begin` on are merged
  uint64_t half;                           // of VisitEntry::order: where the sorted numbers are
};
static_assert(sizeof(Visit) == abi::kKernelVisit);

extern "C" {
extern char spile_map_turns;
}

SPILE_INLINE inline VisitEntry* entry_at(void* visits, uint64_t number) {
  auto index = static_cast<uint32_t>(number);
  return static_cast<VisitEntry*>(lookup(visits, &index));
}
SPILE_INLINE inline char* key_of(VisitEntry* entry) { return reinterpret_cast<char*>(entry + 1); }
SPILE_INLINE inline bool sorts_strings(const MapShape* shape, uint32_t column) {
  return column ? (shape->string_keys >> (column - 1) & 1) != 0 : !shape->aggregate && shape->value_size > abi::kCountedLong;
}
SPILE_INLINE inline char* column_of(VisitEntry* entry, const MapShape* shape, uint32_t column) {
  if (column == 0) return key_of(entry) + shape->key_size;
  uint32_t at = 0;
  for (uint32_t n = 0; n + 1 < column; ++n) at += shape->string_keys >> n & 1 ? spile_rt_string_size : 8;
  return key_of(entry) + at;
}

// Whether `b` has to come before `a`, which was met earlier.
SPILE_INLINE inline bool out_of_order(VisitEntry* a, VisitEntry* b, const MapShape* shape, uint32_t column, int32_t direction) {
  if (sorts_strings(shape, column)) {
    const int32_t compared = spile_rt_string_compare(column_of(a, shape, column), column_of(b, shape, column));
    return direction < 0 ? compared < 0 : compared > 0;
  }
  return direction < 0 ? a->number < b->number : a->number > b->number;
}

SPILE_INLINE inline void repeat(void* map, void* callback, void* argument) {
  helper<long (*)(void*, void*, void*, uint64_t)>(BPF_FUNC_for_each_map_elem)(map, callback, argument, 0);
}

extern "C" {

// What is left of MAXACTION, where a loop changes it.
SPILE_INLINE int32_t* spile_rt_kernel_actions(Context* context) {
  return reinterpret_cast<int32_t*>(scratch_of(context) + abi::kKernelActionsOffset);
}

// Called for each element of the array. argument: of spile_rt_kernel_visit_begin. 0: go on.
SPILE_INLINE int64_t spile_rt_kernel_collect(void* visits, const MapShape* shape, uint32_t column, uint32_t statistic,
                                             const char* key, char* value, void* argument) {
  Visit* visit = *static_cast<Visit**>(argument);
  const uint64_t number = visit->count;
  VisitEntry* entry = entry_at(visits, number);
  if (!entry) return 1;
  read_kernel(key_of(entry), shape->key_size, key);
  if (column == 0 && shape->aggregate) {
    const auto* aggregate = reinterpret_cast<const abi::Aggregate*>(value);
    entry->number = sort_statistic(aggregate, static_cast<int64_t>(aggregate->count), statistic);
  } else if (column == 0 && sorts_strings(shape, 0)) {
    read_kernel_string(column_of(entry, shape, 0), spile_rt_string_size, value);
  } else if (column == 0) {
    entry->number = *reinterpret_cast<const int64_t*>(value);
  } else if (!sorts_strings(shape, column)) {
    entry->number = *reinterpret_cast<const int64_t*>(column_of(entry, shape, column));
  }
  entry->order[0] = static_cast<uint32_t>(number);
  visit->count = number + 1;
  return 0;
}

// Puts the next number of a merge into its place. 1: the pass is over.
SPILE_INLINE int64_t spile_rt_kernel_sort_step(void* visits, const MapShape* shape, uint32_t column, int32_t direction,
                                               void* argument) {
  Visit* visit = *static_cast<Visit**>(argument);
  const uint64_t count = visit->count, begin = visit->begin, at = visit->at, half = visit->half & 1;
  if (at >= count) return 1;
  uint64_t middle = begin + visit->width, end = middle + visit->width;
  if (middle > count) middle = count;
  if (end > count) end = count;
  uint64_t left = visit->left, right = visit->right;
  if (at == begin) {
    left = begin;
    right = middle;
  }
  VisitEntry *to = entry_at(visits, at), *of_left = entry_at(visits, left),
             *of_right = entry_at(visits, right < count ? right : 0);
  if (!to || !of_left || !of_right) return 1;
  const uint32_t a = of_left->order[half], b = of_right->order[half];
  bool from_right = left >= middle;
  if (!from_right && right < end) {
    VisitEntry *x = entry_at(visits, a), *y = entry_at(visits, b);
    if (!x || !y) return 1;
    from_right = out_of_order(x, y, shape, column, direction);
  }
  to->order[half ^ 1] = from_right ? b : a;
  visit->left = from_right ? left : left + 1;
  visit->right = from_right ? right + 1 : right;
  visit->at = at + 1;
  if (at + 1 >= end) visit->begin = at + 1;
  return 0;
}

// One pass of the merge. 1: all is sorted.
SPILE_INLINE int64_t spile_rt_kernel_sort_pass(void* visits, void* step, void* argument) {
  Visit* visit = *static_cast<Visit**>(argument);
  if (visit->width >= visit->count) return 1;
  visit->begin = visit->at = 0;
  repeat(visits, step, argument);
  visit->half ^= 1;
  visit->width *= 2;
  return 0;
}

// memory: abi::kKernelVisit bytes of scratch memory. collect, pass: functions that call those above; pass: null where the order
// does not matter. limit: at most so many elements; below 0: all.
SPILE_INLINE void spile_rt_kernel_visit_begin(void* memory, Handle map, void* collect, void* pass, int64_t limit) {
  auto* visit = static_cast<Visit*>(memory);
  visit->count = visit->position = visit->half = 0;
  visit->width = 1;
  Visit* argument = visit;
  repeat(map, collect, &argument);
  if (pass) repeat(&spile_map_turns, pass, &argument);
  if (limit >= 0 && static_cast<uint64_t>(limit) < visit->count) visit->count = static_cast<uint64_t>(limit);
}

// Null at the end.
SPILE_INLINE void* spile_rt_kernel_visit_next(void* memory, void* visits, bool sorted) {
  auto* visit = static_cast<Visit*>(memory);
  const uint64_t position = visit->position;
  if (position >= visit->count) return nullptr;
  visit->position = position + 1;
  VisitEntry* entry = entry_at(visits, position);
  if (entry && sorted) entry = entry_at(visits, entry->order[visit->half & 1]);
  return entry;
}

SPILE_INLINE char* spile_rt_kernel_visited_key(void* element) { return key_of(static_cast<VisitEntry*>(element)); }

}  // extern "C"

}  // namespace spile::rt
