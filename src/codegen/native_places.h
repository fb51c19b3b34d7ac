#pragma once
// The two places of native code: traced processes and spile itself.

#include "codegen/place.h"

namespace spile::codegen {

class NativePlace : public Place {
 public:
  llvm::Value* machine_register(Lowering& lowering, int64_t number) override;
  llvm::Value* cfa(Lowering& lowering) override;
  llvm::Value* load_bias(Lowering& lowering) override;
  llvm::Value* context_address(Lowering&, int64_t) override { return nullptr; }
  llvm::Value* context_string(Lowering&, llvm::Value*) override { return nullptr; }
};

class TargetPlace final : public NativePlace {
 public:
  sema::Domain domain() const override { return sema::Domain::kTarget; }
  llvm::Value* thread_pointer(Lowering& lowering) override;
  llvm::Value* global(Lowering& lowering, const syntax::Global& global) override;
};

class ControllerPlace final : public NativePlace {
 public:
  // Of the thread that a process.syscall probe is about.
  llvm::Value* machine_register(Lowering& lowering, int64_t number) override;
  sema::Domain domain() const override { return sema::Domain::kController; }
  llvm::Value* global(Lowering& lowering, const syntax::Global& global) override;
};

}  // namespace spile::codegen
