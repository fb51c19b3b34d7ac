#pragma once
// The runtime's bitcode, as compiled at build time: one LLVM module for each place where handlers run (interface.h).

#include <span>

namespace spile::rt {

std::span<const unsigned char> native_bitcode();
std::span<const unsigned char> bpf_bitcode();  // empty in a build without it

}  // namespace spile::rt
