#pragma once
// The counter by which records of processes are ordered (abi/record.h): the same one on all CPUs, readable without the kernel.
// Handlers read it by an instruction that may fault (runtime/native/arch.h); this is for spile itself.

#include <stdint.h>

namespace spile::abi {

#if defined(__x86_64__)
inline uint64_t time_counter() { return __builtin_ia32_rdtsc(); }
#endif

}  // namespace spile::abi
