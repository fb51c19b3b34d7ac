#pragma once
// The handler of SIGTRAP for breakpoints that have outlived their tracer (Architecture::emit_trap_action).

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

TrapAction emit_trap_action(Address at, uint64_t entries);

}  // namespace spile::engine::x86_64
