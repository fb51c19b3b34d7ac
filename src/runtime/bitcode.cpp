// Embeds the modules that CMakeLists.txt compiles. SPILE_NATIVE_BITCODE and SPILE_BPF_BITCODE are their paths.

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

SPILE_EMBED(spile_native_bitcode, SPILE_NATIVE_BITCODE)
#ifdef SPILE_BPF_BITCODE
SPILE_EMBED(spile_bpf_bitcode, SPILE_BPF_BITCODE)
#endif

namespace spile::rt {

std::span<const unsigned char> native_bitcode() {
  return {spile_native_bitcode_begin, spile_native_bitcode_end};
}

std::span<const unsigned char> bpf_bitcode() {
#ifdef SPILE_BPF_BITCODE
  return {spile_bpf_bitcode_begin, spile_bpf_bitcode_end};
#else
  return {};
#endif
}

}  // namespace spile::rt
