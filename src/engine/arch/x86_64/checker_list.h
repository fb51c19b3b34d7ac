#pragma once
// What compiled handlers may consist of.

#include <Zydis/Zydis.h>

#include <cstdint>

#include "engine/arch/x86_64/assembler.h"

namespace spile::engine::x86_64 {

bool is_listed(ZydisMnemonic mnemonic);
// System calls that change nothing: who am I, what time is it.
// first, second: its arguments, -1 where they can't be told.
bool is_listed_call(int64_t number, int64_t first, int64_t second);

}  // namespace spile::engine::x86_64
