#pragma once
// How functions of native/ are marked, and assembly that may fault.

// On the hit path: folds into the script's handler.
#define SPILE_INLINE [[gnu::always_inline]]
// What the hit path needs rarely: out of line with the preserve_most convention, so that a handler that could call it, but does
// not, saves no register for it.
#define SPILE_COLD [[gnu::noinline, gnu::cold, clang::preserve_most]]
#define SPILE_HIDDEN [[gnu::visibility("hidden")]]

#ifdef SPILE_BITCODE
#define SPILE_FIXUPS ".spile.fixups"
#else
#define SPILE_FIXUPS "spile_fixups"  // a name for which the linker makes __start_ and __stop_ symbols
#endif
// Within assembly: where to go on if the instruction at label FAULTING faults (load.cpp says who catches it).
#define SPILE_FIXUP(FAULTING, RESUME)                                    \
  ".pushsection " SPILE_FIXUPS ",\"a\",@progbits\n.balign 4\n"            \
  ".long " #FAULTING " - .\n.long " #RESUME " - .\n.popsection"
