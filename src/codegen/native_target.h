#pragma once
// What generating code for this machine needs beyond LLVM's own knowledge of it: one implementation for each machine, in a folder of
// its name.

#include "codegen/llvm.h"

namespace spile::codegen {

struct NativeTarget {
  const char* triple;
  const char* processor;  // the oldest one that handlers must run on
};
extern const NativeTarget kNativeTarget;

// Makes LLVM's code generator for this machine known; once.
void initialize_native_target();

// Makes a handler of the convention preserve_most keep the registers too that this convention leaves out.
void keep_all_registers(llvm::Function& handler);

// The low 8 bytes of vector register `place` (from 0). A handler has no instruction that writes to a vector register, so they
// are what they were at the probed place.
llvm::Value* read_vector_register(llvm::IRBuilder<>& b, int64_t place);

}  // namespace spile::codegen
