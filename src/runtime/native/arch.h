#pragma once
// The runtime's instructions that C++ can't express, of the machine that spile is built for. No other file of native/ has
// assembly but empty statements that hold the optimizer back.

#if defined(__x86_64__)
#include "runtime/native/arch_x86_64.h"
#else
#error "engine/arch/README.md says what another machine needs"
#endif
