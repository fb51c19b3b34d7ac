#pragma once
// Adapts debuginfo's operations to the probed place: which value the stack pointer has there, and which module addresses are in.

#include "base/location.h"
#include "sema/terms/target_info.h"

namespace spile::probes {

// Where the registers are read that the operations name.
enum class Moment : uint8_t {
  kEntry,   // of a function, whose return address is on the stack
  kReturn,  // the return address is gone
  kInside,  // any instruction: the stack pointer is a register like others
  kCall,    // a call instruction, for what the callee finds at its entry
};

// Returns when the expression of a handler is evaluated. at_entry: at the entry of the call (kFunctionReturn has two sides).
Moment moment_of(const sema::ResolvedPoint& point, bool at_entry);
// Returns the operations as a Binding has them. in_other_module: addresses are in another module than the probed one
// (Binding::other_module).
location::Operations translate(const location::Operations& operations, Moment moment, bool in_other_module = false);

}  // namespace spile::probes
