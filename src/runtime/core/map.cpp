// Associative arrays: find, insert, remove, merge. Layout and rules: map.h.

#include "runtime/core/map.h"

namespace spile::rt {

namespace {

// Finding and inserting happen on the hit path but are too long to inline: like SPILE_COLD, but not thought unlikely.
#if defined(__bpf__)
#define SPILE_OUTLINE [[gnu::noinline]]
#else
#define SPILE_OUTLINE [[gnu::noinline, clang::preserve_most]]
#endif

SPILE_INLINE inline bool same_key(const char* a, const char* b, uint32_t length) {
  for (uint32_t at = 0; at < length; at += 8) {
    if (*reinterpret_cast<const uint64_t*>(a + at) != *reinterpret_cast<const uint64_t*>(b + at)) return false;
  }
  return true;
}

SPILE_INLINE inline MapElement* find_element(Handle map, const MapShape* shape, const char* key, uint32_t length, uint32_t hash) {
  uint32_t* index = map_index(map);
  uint32_t bucket = home_bucket(shape, hash);
  // Bounded, though a sound index is at most half full: other processes can write to this memory.
  for (uint32_t probes = shape->buckets; probes; --probes, bucket = (bucket + 1) & (shape->buckets - 1)) {
    uint32_t number = index[bucket];
    if (!number) return nullptr;
    MapElement* element = map_element(map, shape, number);
    if (element->hash == hash && element->length == length && same_key(element_key(element), key, length)) return element;
  }
  return nullptr;
}

void unlink_from_list(Handle map, const MapShape* shape, MapElement* element) {
  MapHeader* header = map_header(map);
  if (element->previous) {
    map_element(map, shape, element->previous)->next = element->next;
  } else {
    header->first = element->next;
  }
  if (element->next) {
    map_element(map, shape, element->next)->previous = element->previous;
  } else {
    header->last = element->previous;
  }
}

// Takes the element's number out of the index and closes the gap: whatever follows in the run and may stand nearer to
// its home bucket moves up.
void unlink_from_index(Handle map, const MapShape* shape, uint32_t number, uint32_t hash) {
  uint32_t* index = map_index(map);
  uint32_t mask = shape->buckets - 1;
  uint32_t gap = home_bucket(shape, hash);
  uint32_t probes = shape->buckets;
  while (index[gap] != number) {
    if (!index[gap] || !--probes) return;
    gap = (gap + 1) & mask;
  }
  for (uint32_t next = (gap + 1) & mask; index[next] && --probes; next = (next + 1) & mask) {
    uint32_t home = home_bucket(shape, map_element(map, shape, index[next])->hash);
    if (((next - home) & mask) >= ((next - gap) & mask)) {
      index[gap] = index[next];
      gap = next;
    }
  }
  index[gap] = 0;
}

void remove_element(Handle map, const MapShape* shape, uint32_t number) {
  MapHeader* header = map_header(map);
  MapElement* element = map_element(map, shape, number);
  unlink_from_index(map, shape, number, element->hash);
  unlink_from_list(map, shape, element);
  element->length = 0;
  element->next = header->free;
  header->free = number;
  --header->count;
}

uint32_t free_element(Handle map, const MapShape* shape) {
  MapHeader* header = map_header(map);
  if (!header->free && header->used >= shape->capacity) {
    if (!shape->wraps || !header->first) return 0;
    remove_element(map, shape, header->first);
  }
  if (uint32_t number = load_relaxed(&header->free)) {
    header->free = map_element(map, shape, number)->next;
    return number;
  }
  uint32_t number = load_relaxed(&header->used) + 1;
  store_relaxed(&header->used, number);
  return number;
}

SPILE_OUTLINE void* find_long(Handle map, const MapShape* shape, int64_t key) {
  MapElement* element = find_element(map, shape, reinterpret_cast<const char*>(&key), 8, hash_long(key));
  return element ? element_value(element, shape) : nullptr;
}
SPILE_OUTLINE void* find_packed(Handle map, const MapShape* shape, const char* key, uint32_t length) {
  MapElement* element = find_element(map, shape, key, length, hash_key(key, length));
  return element ? element_value(element, shape) : nullptr;
}

// A handler that could not add to its own shard can only count that; elsewhere the lowering raises a script error.
SPILE_INLINE inline void* counted(abi::ThreadSlot* slot, Handle map, void* value) {
  if (unlikely(!value) && !spile_rt_in_controller && bytes_of(map) >= bytes_of(slot)) {
    count_skip(slot, abi::kSkipMapFull);
  }
  return value;
}
SPILE_OUTLINE void* insert_long(abi::ThreadSlot* slot, Handle map, const MapShape* shape, int64_t key) {
  return counted(slot, map, insert_element(map, shape, reinterpret_cast<const char*>(&key), 8, hash_long(key)));
}
SPILE_OUTLINE void* insert_packed(abi::ThreadSlot* slot, Handle map, const MapShape* shape, const char* key, uint32_t length) {
  return counted(slot, map, insert_element(map, shape, key, length, hash_key(key, length)));
}
SPILE_OUTLINE void remove_packed(Handle map, const MapShape* shape, const char* key, uint32_t length) {
  uint32_t hash = hash_key(key, length);
  MapElement* element = find_element(map, shape, key, length, hash);
  if (!element) return;
  uint64_t stride = sizeof(MapElement) + static_cast<uint64_t>(shape->key_size) + shape->value_size;
  uint64_t offset = static_cast<uint64_t>(bytes_of(element) - bytes_of(map_element(map, shape, 1)));
  remove_element(map, shape, static_cast<uint32_t>(offset / stride) + 1);
}

// The value of a constant text as key, or null: see abi::KeyTextHead.
SPILE_OUTLINE void* insert_text(abi::ThreadSlot* slot, Handle map, const MapShape* shape, const char* text) {
  const auto head = *reinterpret_cast<const abi::KeyTextHead*>(text - sizeof(abi::KeyTextHead));
  return counted(slot, map, insert_element(map, shape, text, head.length, head.hash));
}
SPILE_OUTLINE void* find_text(Handle map, const MapShape* shape, const char* text) {
  const auto head = *reinterpret_cast<const abi::KeyTextHead*>(text - sizeof(abi::KeyTextHead));
  MapElement* element = head.length <= shape->key_size ? find_element(map, shape, text, head.length, head.hash) : nullptr;
  return element ? element_value(element, shape) : nullptr;
}

// The value of a long key if it is in its home bucket, where most are; else null.
SPILE_INLINE inline void* find_at_home(Handle map, const MapShape* shape, int64_t key, bool* empty) {
  uint32_t number = map_index(map)[home_bucket(shape, hash_long(key))];
  *empty = number == 0;
  if (unlikely(!number)) return nullptr;
  MapElement* element = map_element(map, shape, number);
  if (unlikely(*reinterpret_cast<int64_t*>(element_key(element)) != key)) return nullptr;
  return element_value(element, shape);
}

}  // namespace

[[gnu::noinline]] void* insert_element(Handle map, const MapShape* shape, const char* key, uint32_t length, uint32_t hash) {
  if (length == 0 || length > shape->key_size) return nullptr;
  if (MapElement* found = find_element(map, shape, key, length, hash)) return element_value(found, shape);
  uint32_t number = free_element(map, shape);
  if (!number) return nullptr;
  MapHeader* header = map_header(map);
  MapElement* element = map_element(map, shape, number);
  element->hash = hash;
  element->length = length;
  copy_bytes(element_key(element), key, length);
  if (shape->aggregate & abi::kAggregateSketch)
    clear_aggregate(static_cast<abi::Aggregate*>(element_value(element, shape)), shape->aggregate, shape->value_size);
  else zero_bytes(element_value(element, shape), shape->value_size);
  element->next = 0;
  element->previous = header->last;
  if (uint32_t last = load_relaxed(&header->last)) {
    map_element(map, shape, last)->next = number;
  } else {
    header->first = number;
  }
  header->last = number;
  ++header->count;
  uint32_t* index = map_index(map);
  uint32_t bucket = home_bucket(shape, hash);
  for (uint32_t probes = shape->buckets; index[bucket] && probes; --probes) bucket = (bucket + 1) & (shape->buckets - 1);
  index[bucket] = number;
  return element_value(element, shape);
}

// Zeroes the run from each element's home bucket on, if there are few; every used bucket lies in such a run.
[[gnu::noinline]] void empty_map(Handle map, const MapShape* shape) {
  MapHeader* header = map_header(map);
  if (!header->used) return;
  uint32_t* index = map_index(map);
  uint32_t used = load_relaxed(&header->used);
  if (used > shape->capacity) used = shape->capacity;
  if (used < shape->buckets / 16) {
    for (uint32_t number = 1; number <= used; ++number) {
      MapElement* element = map_element(map, shape, number);
      uint32_t bucket = home_bucket(shape, element->hash);
      for (uint32_t probes = shape->buckets; index[bucket] && probes; --probes, bucket = (bucket + 1) & (shape->buckets - 1)) {
        index[bucket] = 0;
      }
      element->length = 0;
    }
  } else {
    zero_bytes(index, 4ull * shape->buckets);
    for (uint32_t number = 1; number <= used; ++number) map_element(map, shape, number)->length = 0;
  }
  zero_bytes(header, sizeof(MapHeader));
}

extern "C" {

SPILE_INLINE uint32_t spile_rt_key_put_long(char* key, uint32_t at, int64_t value) {
  *reinterpret_cast<int64_t*>(key + at) = value;
  return at + 8;
}

// The last word is zeroed first: the bytes after the NUL belong to the key.
uint32_t spile_rt_key_put_string(char* key, uint32_t at, const char* text) {
  uint32_t length = spile_rt_string_length(text);
  uint32_t padded = abi::packed_text_bytes(length);
  *reinterpret_cast<uint64_t*>(key + at + padded - 8) = 0;
  copy_bytes(key + at, text, length);
  return at + padded;
}

SPILE_INLINE int64_t spile_rt_key_get_long(const char* key, uint32_t at) { return *reinterpret_cast<const int64_t*>(key + at); }
SPILE_INLINE const char* spile_rt_key_get_string(const char* key, uint32_t at) { return key + at; }
uint32_t spile_rt_key_skip_string(const char* key, uint32_t at) { return at + ((spile_rt_string_length(key + at) + 8) & ~7u); }

SPILE_INLINE void* spile_rt_map_find(Context*, Handle map, const MapShape* shape, const char* key, uint32_t length) {
  return find_packed(map, shape, key, length);
}
SPILE_INLINE void* spile_rt_map_insert(Context* context, Handle map, const MapShape* shape, const char* key, uint32_t length) {
  return insert_packed(context->slot, map, shape, key, length);
}
SPILE_INLINE void* spile_rt_map_find_long(Context*, Handle map, const MapShape* shape, int64_t key) {
  bool empty;
  void* value = find_at_home(map, shape, key, &empty);
  if (likely(value) || empty) return value;
  return find_long(map, shape, key);
}
SPILE_INLINE void* spile_rt_map_insert_long(Context* context, Handle map, const MapShape* shape, int64_t key) {
  bool empty;
  void* value = find_at_home(map, shape, key, &empty);
  if (likely(value)) return value;
  return insert_long(context->slot, map, shape, key);
}

SPILE_INLINE void* spile_rt_map_find_text(Context*, Handle map, const MapShape* shape, const char* text) {
  return find_text(map, shape, text);
}
SPILE_INLINE void* spile_rt_map_insert_text(Context* context, Handle map, const MapShape* shape, const char* text) {
  return insert_text(context->slot, map, shape, text);
}

SPILE_INLINE void spile_rt_map_remove(Context*, Handle map, const MapShape* shape, const char* key, uint32_t length) {
  remove_packed(map, shape, key, length);
}
SPILE_INLINE void spile_rt_map_clear(Context*, Handle map, const MapShape* shape) { empty_map(map, shape); }
SPILE_INLINE int64_t spile_rt_map_size(Context*, Handle map, const MapShape*) { return map_header(map)->count; }

void spile_rt_map_init(Handle, const MapShape*) {}

[[gnu::noinline]] MapElement* spile_rt_map_next(Handle map, const MapShape* shape, uint32_t* cursor) {
  uint32_t number = *cursor ? load_relaxed(&map_element(map, shape, *cursor)->next) : load_relaxed(&map_header(map)->first);
  *cursor = number;
  return number ? map_element(map, shape, number) : nullptr;
}

[[gnu::noinline]] uint64_t spile_rt_map_merge(Context*, Handle to, Handle shard, const MapShape* shape,
                                              const abi::AggregateShape* aggregate) {
  uint64_t lost = 0;
  const bool is_counted = !aggregate && shape->value_size == abi::kCountedLong;
  uint32_t number = map_header(shard)->first;
  for (uint32_t steps = 0; number && number <= shape->capacity && steps < shape->capacity; ++steps) {
    MapElement* element = map_element(shard, shape, number);
    number = element->next;
    uint32_t length = load_relaxed(&element->length);
    if (length == 0 || length > shape->key_size || length % 8) continue;
    const char* key = element_key(element);
    void* from = element_value(element, shape);
    void* value = insert_element(to, shape, key, length, hash_key(key, length));
    if (!value) {
      // An aggregate begins with its number of updates; a sum of ones is that number.
      lost += static_cast<uint64_t*>(from)[is_counted ? 1 : 0];
    } else if (aggregate) {
      spile_rt_aggregate_merge(static_cast<abi::Aggregate*>(value), static_cast<abi::Aggregate*>(from), aggregate);
    } else {
      static_cast<uint64_t*>(value)[0] += static_cast<uint64_t*>(from)[0];
      if (is_counted) static_cast<uint64_t*>(value)[1] += static_cast<uint64_t*>(from)[1];
    }
  }
  empty_map(shard, shape);
  return lost;
}

}  // extern "C"

}  // namespace spile::rt
