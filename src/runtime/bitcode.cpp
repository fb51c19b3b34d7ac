// Embeds the modules that CMakeLists.txt compiles. SPILE_PROCESS_BITCODE and so on are their paths.

#include "runtime/bitcode.h"

#define SPILE_EMBED(NAME, PATH)                                                                     \
  asm(".section .rodata." #NAME                                                                     \
      ",\"a\",@progbits\n"                                                                          \
      ".balign 16\n.hidden " #NAME "_begin\n.hidden " #NAME                                         \
      "_end\n"                                                                                      \
      ".globl " #NAME "_begin\n.globl " #NAME "_end\n" #NAME "_begin: .incbin \"" PATH "\"\n" #NAME \
      "_end: .byte 0\n"                                                                             \
      ".text\n");                                                                                   \
  extern "C" __attribute__((visibility("hidden"))) const unsigned char NAME##_begin[], NAME##_end[];

SPILE_EMBED(spile_process_bitcode, SPILE_PROCESS_BITCODE)
SPILE_EMBED(spile_kernel_maps_bitcode, SPILE_KERNEL_MAPS_BITCODE)
SPILE_EMBED(spile_kernel_bitcode, SPILE_KERNEL_BITCODE)

namespace spile::rt {

std::span<const unsigned char> process_bitcode() { return {spile_process_bitcode_begin, spile_process_bitcode_end}; }

std::span<const unsigned char> kernel_maps_bitcode() { return {spile_kernel_maps_bitcode_begin, spile_kernel_maps_bitcode_end}; }

std::span<const unsigned char> kernel_bitcode() { return {spile_kernel_bitcode_begin, spile_kernel_bitcode_end}; }

}  // namespace spile::rt
