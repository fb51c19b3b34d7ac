#pragma once
// debuginfo's places as bindings: both are programs for a stack machine, and nearly the same one. What differs is where
// the stack pointer comes from.

#include <vector>

#include "debuginfo/debuginfo.h"
#include "sema/target_info.h"

namespace spile::probes {

// Where the registers are read that the operations name.
enum class Moment : uint8_t {
  kEntry,   // of a function, whose return address is on the stack
  kReturn,  // the return address is gone
  kInside,  // any instruction: the stack pointer is a register like others
  kCall,    // a call instruction, for what the callee finds at its entry
};

Moment moment_of(const sema::ResolvedPoint& point, bool at_entry);
// function: that has the frame, for values of its entry. other_module: addresses are in another module than the probed one
// (Binding::other_module).
std::vector<sema::LocationOp> translate(const debuginfo::Operations& operations, Moment moment, FileAddress function,
                                        bool other_module = false);

}  // namespace spile::probes
