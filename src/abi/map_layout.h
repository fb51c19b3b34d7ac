#pragma once
// How many bytes an associative array takes in native memory (the runtime's native maps lie in them; codegen reserves
// them). Freestanding.
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

}  // namespace spile::abi
