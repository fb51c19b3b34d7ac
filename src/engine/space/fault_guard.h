#pragma once
// Stands in for the tracer when a handler meets a bad pointer and the tracer has been killed: an action for SIGSEGV and SIGBUS,
// in code of ours, which goes on where the fix-up says. A signal that our code has not raised does what it does by default.
//
// The code is written as soon as the process has handlers that may fault; the action is set when the first of them has faulted
// (signal_actions.h), and only where the program has the default one. So a program can find another action than SIG_DFL only
// after a bad pointer; programs that look for it, to leave alone what others have set (Rust's runtime, libsigsegv), look when
// they begin.

#include "engine/space/space_setup.h"

namespace spile::engine {

// Writes the code into a region, if it is not yet there (SignalCode::fault_action). Sets no action. context: our own client's.
// REQUIRES: the space's modules are known, and map_arena() was called for the context.
Result<void> prepare_fault_guard(SetupContext& context, AddressSpace& space);

}  // namespace spile::engine
