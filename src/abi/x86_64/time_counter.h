#pragma once
// The time-stamp counter of x86-64.

#include <stdint.h>

namespace spile::abi {

inline uint64_t time_counter() { return __builtin_ia32_rdtsc(); }

}  // namespace spile::abi
