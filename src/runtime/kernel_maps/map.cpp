// Associative arrays: hashes of the kernel. A key is of fixed size: longs, strings filled up with zeroes to
// spile_rt_string_size, and for sharded arrays the shard at the end, where the lowering leaves room for it.

#include "runtime/kernel_maps/kernel_maps.h"

namespace spile::rt {

// What a new element begins as. Larger than any value: an aggregate with the most buckets, or a string.
[[gnu::section(".rodata.zeroes"),
  gnu::used]] static const char kZeroes[sizeof(abi::Aggregate) + 8 * (2 + abi::kMaxLinearBuckets)] = {};

struct LongKey {
  int64_t key;
  uint64_t shard;
};

SPILE_INLINE inline void put_shard(Context* context, const MapShape* shape, const char* key) {
  if (!is_sharded(shape)) return;
  char* end = const_cast<char*>(key) + shape->key_size - 8;
  *reinterpret_cast<volatile uint64_t*>(end) = shard_of(context);
}

SPILE_INLINE inline void* insert(void* map, const void* key) {
  if (void* found = lookup(map, key)) return found;
  // It fails where another CPU has just made it, too.
  update(map, key, kZeroes, BPF_NOEXIST);
  return lookup(map, key);
}

extern "C" {

// Called for each element, which holds the array's lock (bpf-helpers(7), bpf_for_each_map_elem). 0: go on. The section keeps it a
// function.
[[gnu::section("callback.erase"), gnu::noinline, gnu::used]] long spile_kernel_erase(void* map, const void* key, void*, void*) {
  remove(map, key);
  return 0;
}
SPILE_INLINE void spile_rt_map_clear(Context*, Handle map, const MapShape*) {
  helper<long (*)(void*, void*, void*, uint64_t)>(BPF_FUNC_for_each_map_elem)(map, reinterpret_cast<void*>(&spile_kernel_erase),
                                                                              nullptr, 0);
}

SPILE_INLINE uint32_t spile_rt_key_put_long(char* key, uint32_t at, int64_t value) {
  *reinterpret_cast<int64_t*>(key + at) = value;
  return at + 8;
}

SPILE_INLINE uint32_t spile_rt_key_put_string(char* key, uint32_t at, const char* text) {
  // Volatile: as one call of memset it would be a function that eBPF doesn't have.
  for (uint32_t i = 0; i < spile_rt_string_size; i += 8) *reinterpret_cast<volatile uint64_t*>(key + at + i) = 0;
  read_kernel_string(key + at, spile_rt_string_size, text);
  return at + spile_rt_string_size;
}

SPILE_INLINE int64_t spile_rt_key_get_long(const char* key, uint32_t at) { return *reinterpret_cast<const int64_t*>(key + at); }
SPILE_INLINE const char* spile_rt_key_get_string(const char* key, uint32_t at) { return key + at; }
SPILE_INLINE uint32_t spile_rt_key_skip_string(const char*, uint32_t at) { return at + spile_rt_string_size; }

SPILE_INLINE void* spile_rt_map_find(Context* context, Handle map, const MapShape* shape, const char* key, uint32_t) {
  put_shard(context, shape, key);
  return lookup(map, key);
}
SPILE_INLINE void* spile_rt_map_insert(Context* context, Handle map, const MapShape* shape, const char* key, uint32_t) {
  put_shard(context, shape, key);
  return insert(map, key);
}
SPILE_INLINE void* spile_rt_map_find_long(Context* context, Handle map, const MapShape*, int64_t key) {
  LongKey packed = {key, shard_of(context)};
  return lookup(map, &packed);
}
SPILE_INLINE void* spile_rt_map_insert_long(Context* context, Handle map, const MapShape*, int64_t key) {
  LongKey packed = {key, shard_of(context)};
  return insert(map, &packed);
}
SPILE_INLINE bool spile_rt_map_set_long(Context* context, Handle map, const MapShape*, int64_t key, int64_t value) {
  LongKey packed = {key, shard_of(context)};
  return update(map, &packed, &value, BPF_ANY) == 0;
}
SPILE_INLINE void spile_rt_map_remove(Context* context, Handle map, const MapShape* shape, const char* key, uint32_t) {
  put_shard(context, shape, key);
  remove(map, key);
}

}  // extern "C"

}  // namespace spile::rt
