#pragma once
// The facts that generating code for this machine needs beyond LLVM's own knowledge of it: one implementation for each machine,
// in a folder of its name.

#include "codegen/terms/llvm.h"

namespace spile::codegen {

struct NativeTarget {
  const char* triple;
  const char* processor;  // LLVM's name of the oldest one that handlers must run on
  const char* features;   // and what they do without: all but general registers
};
extern const NativeTarget kNativeTarget;

// Registers LLVM's code generator for this machine. For initialize_machines() (backend.h).
void initialize_native_target();

// Makes a handler of LLVM's calling convention preserve_most keep also the scratch registers that this convention leaves out.
// REQUIRES: the handler's body is complete.
void keep_all_registers(llvm::Function& handler);

// Reads the low 8 bytes of vector register `place` (from 0), as an i64. A handler has no instruction that writes to a vector
// register, so they are what they were at the probed place.
llvm::Value* read_vector_register(llvm::IRBuilder<>& b, int64_t place);

}  // namespace spile::codegen
