// The modules that CMakeLists.txt compiles and embeds.

#include "runtime/bitcode.h"

#define SPILE_EMBEDDED_CODE(name) \
  extern "C" __attribute__((visibility("hidden"))) const unsigned char name##_begin[], name##_end[];

SPILE_EMBEDDED_CODE(spile_process_bitcode)
SPILE_EMBEDDED_CODE(spile_kernel_maps_bitcode)
SPILE_EMBEDDED_CODE(spile_kernel_bitcode)

namespace spile::rt {

std::span<const unsigned char> process_bitcode() { return {spile_process_bitcode_begin, spile_process_bitcode_end}; }

std::span<const unsigned char> kernel_maps_bitcode() { return {spile_kernel_maps_bitcode_begin, spile_kernel_maps_bitcode_end}; }

std::span<const unsigned char> kernel_bitcode() { return {spile_kernel_bitcode_begin, spile_kernel_bitcode_end}; }

}  // namespace spile::rt
