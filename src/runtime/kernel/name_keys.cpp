// Elements by the running thread's name: the key is packed, hashed and compared as two numbers, without loops.

#include "runtime/core/core.h"
#include "runtime/core/map.h"

namespace spile::rt {

namespace {

// The packed key, as spile_rt_key_put_string() makes it: the bytes with a NUL, filled up to whole words.
struct NameKey {
  uint64_t words[2];
};
SPILE_INLINE inline uint32_t packed_length(uint64_t first) { return first >> 56 ? 16 : 8; }

SPILE_INLINE inline uint32_t hash_name(uint64_t first, uint64_t second) {
  uint64_t hash = first * kHashFactor;
  if (packed_length(first) == 16) hash = ((hash << 23 | hash >> 41) ^ second) * kHashFactor;
  return static_cast<uint32_t>(hash >> 32);
}

// The element in the home bucket, where most are; null: it is another one, or there is none.
SPILE_INLINE inline void* name_at_home(Handle map, const MapShape* shape, uint64_t first, uint64_t second) {
  uint32_t number = map_index(map)[home_bucket(shape, hash_name(first, second))];
  if (unlikely(!number)) return nullptr;
  MapElement* element = map_element(map, shape, number);
  const auto* words = reinterpret_cast<const uint64_t*>(element_key(element));
  if (unlikely(words[0] != first)) return nullptr;
  if (first >> 56 && unlikely(words[1] != second)) return nullptr;  // a text of 8 bytes or more: both keys have two words
  return element_value(element, shape);
}

[[gnu::noinline]] void* find_name(Handle map, const MapShape* shape, uint64_t first, uint64_t second) {
  NameKey key = {{first, second}};
  return spile_rt_map_find(nullptr, map, shape, reinterpret_cast<const char*>(&key), packed_length(first));
}
[[gnu::noinline]] void* insert_name(Context* context, Handle map, const MapShape* shape, uint64_t first, uint64_t second) {
  NameKey key = {{first, second}};
  return spile_rt_map_insert(context, map, shape, reinterpret_cast<const char*>(&key), packed_length(first));
}

}  // namespace

extern "C" {

SPILE_INLINE void* spile_rt_map_find_name(Context*, Handle map, const MapShape* shape, uint64_t first, uint64_t second) {
  void* value = name_at_home(map, shape, first, second);
  return likely(value) ? value : find_name(map, shape, first, second);
}
SPILE_INLINE void* spile_rt_map_insert_name(Context* context, Handle map, const MapShape* shape, uint64_t first,
                                            uint64_t second) {
  void* value = name_at_home(map, shape, first, second);
  return likely(value) ? value : insert_name(context, map, shape, first, second);
}

}  // extern "C"

}  // namespace spile::rt
