#pragma once
// Places within places.

#include "debuginfo/terms/place.h"

namespace spile::debuginfo {

// Returns the place of an object in memory; address: operations that leave its address.
Place memory_at(location::Operations address, Type type);
// Returns the `size` bytes at `offset` of an object as a place of their own; perhaps kUnavailable.
Place part_of(const Place& whole, uint64_t offset, uint64_t size, Type type);

}  // namespace spile::debuginfo
