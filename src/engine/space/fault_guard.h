#pragma once
// What does the tracer's part when a handler meets a bad pointer and the tracer has been killed: an action for SIGSEGV,
// or SIGBUS, in code of ours, which goes on where the fix-up says. A signal that is not ours does what it does by
// default.
//
// The code is there as soon as handlers are that may fault; the action is set when the first has (signal_actions.h),
// and only where the program has the default one. So a program finds that it is not SIG_DFL only after a bad pointer;
// those that ask, to leave alone what somebody else has set (Rust's runtime, libsigsegv), do when they begin.

#include "engine/space/space_setup.h"

namespace spile::engine {

// Writes the code, if it is not yet there. context: our own client's. REQUIRES: modules are known.
Result<void> prepare_fault_guard(SetupContext& context, AddressSpace& space);

}  // namespace spile::engine
