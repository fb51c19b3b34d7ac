#pragma once
// What the runtime has for the machine that spile is built for: the instructions that C++ can't express (no other file of native/
// has assembly but empty statements that hold the optimizer back), and the names of system calls.

#if defined(__x86_64__)
#include "runtime/native/arch_x86_64.h"
#include "runtime/native/system_call_names_x86_64.h"
#else
#error "engine/arch/README.md says what another machine needs"
#endif
