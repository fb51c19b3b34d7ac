#pragma once
// How functions of core/, process/ and kernel/ are marked, and assembly that may fault.

// For functions on the hit path: they fold into the script's handler.
#define SPILE_INLINE [[gnu::always_inline]]
// For functions that the hit path needs rarely: they stay out of line, with the preserve_most convention, so that a handler that
// could call one, but does not, saves no register for it.
#if defined(__bpf__)
#define SPILE_COLD [[gnu::noinline, gnu::cold]]
#else
#define SPILE_COLD [[gnu::noinline, gnu::cold, clang::preserve_most]]
#endif
// For functions that the kernel's verifier should check once, apart from their callers, whose paths it would follow through each
// of them.
#if defined(__bpf__)
#define SPILE_APART [[gnu::noinline]]
#else
#define SPILE_APART
#endif
// For functions that use memory of the arena alone, never globals that processes share with the kernel: codegen/ebpf/pointers.cpp
// casts the addresses in them without asking which of both they are.
#if defined(__bpf__)
#define SPILE_ARENA_ONLY [[omp::assume("spile_arena_only")]]
#else
#define SPILE_ARENA_ONLY
#endif
// For symbols of the image that no dynamic linker may see or replace.
#define SPILE_HIDDEN [[gnu::visibility("hidden")]]

#ifdef SPILE_BITCODE
#define SPILE_FIXUPS ".spile.fixups"
#else
#define SPILE_FIXUPS "spile_fixups"  // a name for which the linker makes __start_ and __stop_ symbols
#endif
// Within assembly: adds a pair to the fix-up table, so that if the instruction at label FAULTING faults, the thread goes on at
// label RESUME (load.cpp says who catches the fault). Both are texts, as clang-format would put a blank into `%l[fault]`.
#define SPILE_FIXUP(FAULTING, RESUME) \
  ".pushsection " SPILE_FIXUPS        \
  ",\"a\",@progbits\n.balign 4\n"     \
  ".long " FAULTING " - .\n.long " RESUME " - .\n.popsection"
