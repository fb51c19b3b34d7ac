#pragma once
// Handlers of signals that our code raises in the target, for the time when the tracer has gone (Architecture::emit_trap_handler,
// emit_fault_handler, which document these functions). Machine code in the target, called by the kernel as void handler(int,
// siginfo_t*, ucontext_t*).

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

SignalHandler emit_trap_handler(Address at, uint64_t entries);
SignalHandler emit_fault_handler(Address at, Address regions);

}  // namespace spile::engine::x86_64
