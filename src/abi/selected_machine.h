#pragma once
// Selects the machine that spile is built for: the one header that asks the compiler. Files of a machine are in folders of its
// name.

#if defined(__x86_64__)
#define SPILE_MACHINE x86_64
#else
#error "src/engine/arch/README.md lists what another machine needs"
#endif

// What `#include` takes: SPILE_MACHINE_FILE(abi, elf.h) is "abi/x86_64/elf.h".
// clang-format off: a path has no blanks.
#define SPILE_MACHINE_FILE(room, file) SPILE_MACHINE_PATH(room/SPILE_MACHINE/file)
// clang-format on
#define SPILE_MACHINE_PATH(path) SPILE_MACHINE_QUOTED(path)
#define SPILE_MACHINE_QUOTED(path) #path
