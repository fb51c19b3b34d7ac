#include "bpf/elements.h"

#include <algorithm>
#include <cstring>

#include "abi/aggregate.h"

namespace spile::bpf {
namespace {

uint64_t load(const uint8_t* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

void store(uint8_t* at, uint64_t value) { std::memcpy(at, &value, sizeof value); }

// Unsigned, so that overflow wraps as it does in handlers.
void add_longs(uint8_t* to, const uint8_t* from, size_t bytes) {
  for (size_t at = 0; at + 8 <= bytes; at += 8) store(to + at, load(to + at) + load(from + at));
}

void merge_aggregate(uint8_t* to_bytes, const uint8_t* from_bytes, size_t size) {
  abi::Aggregate to, from;
  std::memcpy(&to, to_bytes, sizeof to);
  std::memcpy(&from, from_bytes, sizeof from);
  if (from.count == 0) return;
  to.min = to.count ? std::min(to.min, from.min) : from.min;
  to.max = to.count ? std::max(to.max, from.max) : from.max;
  to.squares_low += from.squares_low;
  to.squares_high += from.squares_high + (to.squares_low < from.squares_low);
  to.count += from.count;
  to.sum = static_cast<int64_t>(static_cast<uint64_t>(to.sum) + static_cast<uint64_t>(from.sum));
  std::memcpy(to_bytes, &to, sizeof to);
  add_longs(to_bytes + sizeof to, from_bytes + sizeof from, size - sizeof to);
}

size_t part_size(const MapSpec& map, uint32_t part) { return map.string_keys >> part & 1 ? map.string_size : 8; }

size_t string_length(const uint8_t* text, size_t limit) {
  const void* end = std::memchr(text, 0, limit);
  return end ? static_cast<size_t>(static_cast<const uint8_t*>(end) - text) : limit;
}

size_t padded(size_t bytes) { return (bytes + 7) & ~size_t{7}; }

}  // namespace

uint32_t script_key_size(const MapSpec& map) {
  bool hash = map.kind == MapSpec::Kind::kPerCpuHash || map.kind == MapSpec::Kind::kHash || map.kind == MapSpec::Kind::kLruHash;
  return hash && map.sharded ? map.key_size - 8 : map.key_size;
}

Bytes unpack_key(const MapSpec& map, std::span<const uint8_t> key) {
  if (map.string_keys == 0) return Bytes(key.begin(), key.end());
  Bytes out;
  size_t at = 0;
  for (uint32_t part = 0; part < map.key_count; ++part) {
    size_t size = std::min(part_size(map, part), key.size() - at);
    bool is_string = map.string_keys >> part & 1;
    size_t taken = is_string ? string_length(key.data() + at, size) : size;
    out.insert(out.end(), key.data() + at, key.data() + at + taken);
    if (is_string) out.resize(out.size() - taken + padded(taken + 1));
    at += size;
  }
  return out;
}

Bytes pack_key(const MapSpec& map, std::span<const uint8_t> key) {
  if (map.string_keys == 0) return Bytes(key.begin(), key.end());
  Bytes out;
  size_t at = 0;
  for (uint32_t part = 0; part < map.key_count; ++part) {
    size_t left = key.size() - std::min(at, key.size());
    bool is_string = map.string_keys >> part & 1;
    size_t length = is_string ? string_length(key.data() + at, left) : std::min<size_t>(8, left);
    size_t size = part_size(map, part);
    size_t kept = is_string ? std::min(length, size - 1) : length;
    out.insert(out.end(), key.data() + at, key.data() + at + kept);
    out.resize(out.size() - kept + size);
    at += is_string ? padded(length + 1) : 8;
  }
  return out;
}

void merge_value(const MapSpec& map, std::span<uint8_t> to, std::span<const uint8_t> from) {
  switch (map.merge) {
    case MapSpec::Merge::kNone: std::copy(from.begin(), from.end(), to.begin()); break;
    case MapSpec::Merge::kSum: add_longs(to.data(), from.data(), to.size()); break;
    case MapSpec::Merge::kAggregate: merge_aggregate(to.data(), from.data(), to.size()); break;
  }
}

}  // namespace spile::bpf
