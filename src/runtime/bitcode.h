#pragma once
// The runtime's bitcode, compiled at build time and embedded in spile: one LLVM module for each implementation of interface.h.

#include <span>

namespace spile::rt {

// Return bytes that live as long as the program. Any thread.
std::span<const unsigned char> process_bitcode();      // for handlers in processes and in spile itself
std::span<const unsigned char> kernel_maps_bitcode();  // for handlers in the kernel over its maps
std::span<const unsigned char> kernel_bitcode();       // for handlers in the kernel over a BPF arena

}  // namespace spile::rt
