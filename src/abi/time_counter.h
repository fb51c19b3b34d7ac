#pragma once
// time_counter() reads the counter by which records of processes are ordered (abi/record.h): ticks of a fixed rate, which
// Clock::mult (abi/arena.h) makes ns of; the same counter on all CPUs, readable without the kernel.
// Handlers read it by an instruction that may fault (runtime/core/arch.h); this is for spile itself.

#include "abi/selected_machine.h"
#include SPILE_MACHINE_FILE(abi, time_counter.h)
