#pragma once
// Map elements as the script sees them: values of all CPUs and shards made one, keys repacked from the fixed-size form
// that eBPF needs to the runtime's own (runtime/interface.h) and back.

#include <cstdint>
#include <span>
#include <vector>

#include "bpf/bpf.h"

namespace spile::bpf {

using Bytes = std::vector<uint8_t>;

// Returns the number of bytes of a key that belong to the script: all but the shard.
uint32_t script_key_size(const MapSpec& map);

// Converts a key from the map's form (script_key_size bytes) to the runtime's.
Bytes unpack_key(const MapSpec& map, std::span<const uint8_t> key);
// Converts a key from the runtime's form to the map's. Strings that do not fit are cut, as handlers cut them.
Bytes pack_key(const MapSpec& map, std::span<const uint8_t> key);

// Adds one CPU's (or shard's) value to `to`, which is of value_size bytes and starts as zeroes.
void merge_value(const MapSpec& map, std::span<uint8_t> to, std::span<const uint8_t> from);

}  // namespace spile::bpf
