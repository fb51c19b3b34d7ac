#pragma once
// Converts map elements to what the script sees: merges values of all CPUs and shards, and repacks keys from the fixed-size form
// that eBPF needs to the runtime's form (runtime/interface.h) and back.

#include <cstdint>
#include <span>
#include <vector>

#include "bpf/bpf.h"

namespace spile::bpf {

using Bytes = std::vector<uint8_t>;

// Returns the number of bytes of a key of the map without the number of the shard.
uint32_t script_key_size(const MapSpec& map);

// Converts a key from the map's form (script_key_size() bytes, without the shard) to the runtime's.
Bytes unpack_key(const MapSpec& map, std::span<const uint8_t> key);
// Converts a key from the runtime's form to the map's. Strings that do not fit are cut, as handlers cut them.
Bytes pack_key(const MapSpec& map, std::span<const uint8_t> key);

// Merges the value of one CPU or shard into `to` as MapSpec::merge says; kNone: replaces `to`. REQUIRES: both have value_size
// bytes, and `to` is all zero before the first call.
void merge_value(const MapSpec& map, std::span<uint8_t> to, std::span<const uint8_t> from);

}  // namespace spile::bpf
