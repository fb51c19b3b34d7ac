#pragma once
// An associative array in memory that starts as zeros, which is a valid empty one (sizes: abi/map_layout.h).
//
//   MapHeader | index: uint32_t[buckets] | entries: MapElement, packed key, value; capacity times
//
// The index is open addressing with linear probing and backward-shift deletion; it holds entry numbers from 1, 0 for
// none. Entries form a doubly linked list in the order of insertion, which is foreach's. Freed ones a single one by
// `next`; never used ones lie past `used`. A map has one writer at a time: the thread whose shard it is, or a lock's
// holder. What the controller merges may have been left in any state by a killed thread, so merging trusts no number. Packed keys
// are aligned to 8 bytes and of whole words; an element's address is valid until the element is removed.

#include "abi/map_layout.h"
#include "runtime/core/core.h"

namespace spile::rt {

struct MapHeader {
  uint32_t count;
  uint32_t first, last;  // of the list: oldest, newest; 0: empty
  uint32_t free;         // first of the freed ones; 0: none
  uint32_t used;         // how many have ever been used since the map was empty
  uint32_t pad[11];
};
static_assert(sizeof(MapHeader) == abi::kMapHeaderSize);

struct MapElement {
  uint32_t next, previous;  // in the list; 0: none
  uint32_t hash;            // hash_key() of the packed key
  uint32_t length;          // of the packed key, in bytes; 0: free
};
static_assert(sizeof(MapElement) == abi::kMapEntryHeaderSize);

using abi::MapShape;

SPILE_INLINE inline MapHeader* map_header(Handle map) { return static_cast<MapHeader*>(map); }
SPILE_INLINE inline uint32_t* map_index(Handle map) { return reinterpret_cast<uint32_t*>(map_header(map) + 1); }
// Elements are numbered from 1. Of a number that no map has (any process that shares the arena may have written it), the
// first: whatever stands in a map, nothing outside it is reached.
SPILE_INLINE inline MapElement* map_element(Handle map, const MapShape* shape, uint32_t number) {
  if (unlikely(number - 1 >= shape->capacity)) number = 1;
  char* entries = reinterpret_cast<char*>(map_index(map) + shape->buckets);
  uint64_t stride = sizeof(MapElement) + static_cast<uint64_t>(shape->key_size) + shape->value_size;
  return reinterpret_cast<MapElement*>(entries + static_cast<uint64_t>(number) * stride - stride);
}
SPILE_INLINE inline char* element_key(MapElement* element) { return reinterpret_cast<char*>(element + 1); }
SPILE_INLINE inline void* element_value(MapElement* element, const MapShape* shape) {
  return element_key(element) + shape->key_size;
}

using abi::kHashFactor;

SPILE_INLINE inline uint32_t hash_long(int64_t key) {
  return static_cast<uint32_t>(static_cast<uint64_t>(key) * kHashFactor >> 32);
}
// Equals hash_long() for a key of one long.
SPILE_INLINE inline uint32_t hash_key(const char* key, uint32_t length) {
  uint64_t hash = 0;
  for (uint32_t at = 0; at < length; at += 8) {
    uint64_t word = *reinterpret_cast<const uint64_t*>(key + at);
    hash = abi::hash_next(hash, word);
  }
  return abi::hash_end(hash);
}
SPILE_INLINE inline uint32_t home_bucket(const MapShape* shape, uint32_t hash) {
  // The top log2(buckets) bits of 32. buckets is a constant power of two, so this is one shift.
  return hash >> (__builtin_clz(shape->buckets) + 1);
}

// Finds the key's element, or makes it with a value of zeros; returns the value. Null: the map is full and its shape does not
// wrap, or the key is empty or longer than the shape's. hash: hash_key() of the key.
void* insert_element(Handle map, const MapShape* shape, const char* key, uint32_t length, uint32_t hash);
// Removes all elements, whatever state the map is in.
void empty_map(Handle map, const MapShape* shape);

}  // namespace spile::rt
