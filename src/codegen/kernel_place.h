#pragma once
// Handlers in the kernel. Globals are maps, registers are read from struct pt_regs, fields from the tracepoint's
// record.

#include <set>

#include "codegen/place.h"
#include "codegen/unit.h"

namespace spile::codegen {

class KernelPlace final : public Place {
 public:
  sema::Domain domain() const override { return sema::Domain::kKernel; }
  llvm::Value* global(Lowering& lowering, const syntax::Global& global) override;
  llvm::Value* machine_register(Lowering& lowering, int64_t number) override;
  llvm::Value* cfa(Lowering& lowering) override;
  llvm::Value* load_bias(Lowering& lowering) override;
  llvm::Value* context_address(Lowering& lowering, int64_t offset) override;
  llvm::Value* context_string(Lowering& lowering, llvm::Value* offset) override;
  llvm::Value* site_text(Lowering& lowering, const std::string& what) override;

  // Which side of a probed function is being lowered. Set before each body.
  void set_at_return(bool at_return) { at_return_ = at_return; }
  // Globals that handlers have asked for: they need maps.
  const std::set<int>& globals() const { return globals_; }

 private:
  llvm::Value* kernel_context(Lowering& lowering);
  llvm::Value* register_at(Lowering& lowering, int64_t offset);

  bool at_return_ = false;
  std::set<int> globals_;
};

// The undefined symbol by which the object refers to a map.
llvm::GlobalVariable* map_symbol(ScriptModule& module, const std::string& name);
std::string global_symbol(const syntax::Global& global);

}  // namespace spile::codegen
