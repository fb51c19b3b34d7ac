#pragma once
// Selects what the runtime has for the machine that spile is built for: the instructions that C++ can't express. No other file of
// core/ and process/ has assembly, but for empty statements that hold the optimizer back.

#include "abi/selected_machine.h"
#if defined(__bpf__)
#include "runtime/kernel/arch.h"
#else
// clang-format off: a path has no blanks.
#include SPILE_MACHINE_FILE(runtime/process, arch.h)
// clang-format on
#endif
