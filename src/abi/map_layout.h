#pragma once
// How many bytes an associative array takes in native memory (the runtime's native maps lie in them; codegen reserves
// them), and the hashes of its keys. Freestanding.
//
//   0      header                      kMapHeaderSize
//          uint32_t index[buckets]     hash index, open addressing
//          entries[capacity]           kMapEntryHeaderSize, the packed key, the value; all multiples of 8

#include <stdint.h>

namespace spile::abi {

inline constexpr uint32_t kMapHeaderSize = 64;
inline constexpr uint32_t kMapEntryHeaderSize = 16;

// Returns the power of two for MapShape::buckets: at least twice the capacity, so that the index stays half empty.
constexpr uint32_t map_buckets(uint32_t capacity) {
  uint32_t buckets = 16;
  while (buckets < 2 * static_cast<uint64_t>(capacity)) buckets *= 2;
  return buckets;
}

// REQUIRES: key_size and value_size are multiples of 8.
constexpr uint64_t map_entry_bytes(uint32_t key_size, uint32_t value_size) {
  return kMapEntryHeaderSize + static_cast<uint64_t>(key_size) + value_size;
}

constexpr uint64_t map_bytes(uint32_t key_size, uint32_t value_size, uint32_t capacity, uint32_t buckets) {
  return kMapHeaderSize + 4ull * buckets + map_entry_bytes(key_size, value_size) * capacity;
}

inline constexpr uint64_t kHashFactor = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio: Fibonacci hashing, high bits best

// The hash of a packed key, a word at a time.
constexpr uint64_t hash_next(uint64_t hash, uint64_t word) { return ((hash << 23 | hash >> 41) ^ word) * kHashFactor; }
constexpr uint32_t hash_end(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

// Bytes that a text takes in a packed key: with its NUL, filled up with NULs to whole words.
constexpr uint32_t packed_text_bytes(uint32_t length) { return (length + 8) & ~7u; }

// What stands before a text of codegen's tables (site_texts.h), which is packed as a key is: a handler that uses it as the only
// key of an array neither copies nor hashes it.
struct KeyTextHead {
  uint32_t hash;
  uint32_t length;  // of the packed key, in bytes
};
static_assert(sizeof(KeyTextHead) == 8);

}  // namespace spile::abi
