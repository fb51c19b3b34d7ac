#pragma once
// Handlers in the kernel over a BPF arena (abi/kernel.h): globals, strings and records are where handlers of processes have
// theirs, and only the probed place is the kernel's. The lowering's bodies get the argument of the eBPF program as
// SiteValues::program_context.

#include "codegen/kernel/kernel_site.h"

namespace spile::codegen {

class ArenaKernelPlace final : public KernelSite {
 public:
  // Whether any handler keeps the kernel's stack, which takes the map abi::kKernelFramesMap.
  bool keeps_stacks() const { return keep_stack_ != nullptr; }

  llvm::Value* global(Body& body, const syntax::Global& global) override;
  llvm::Value* all_registers(Body& body) override;
  llvm::Value* keep_kernel_stack(Body& body) override;

  bool globals_are_memory() const override { return true; }
  bool has_shards() const override { return true; }
  bool remembers_matches() const override { return true; }
  bool stops_itself() const override { return true; }
  bool has_preserve_most() const override { return false; }
  bool has_name_keys() const override { return true; }
  bool formats_histograms() const override { return true; }
  bool copies_memory() const override { return true; }
  bool runs_embedded_c() const override { return false; }
  bool runs_at_probe() const override { return true; }
  bool chooses_registers() const override { return true; }
  bool runs_on_thread() const override { return false; }
  bool reads_perf_counters() const override { return false; }
  bool may_write() const override { return true; }
  bool finds_modules() const override { return false; }
  bool is_user_mode() const override { return false; }
  bool is_trusted() const override { return true; }
  bool is_controller() const override { return false; }

 private:
  llvm::Value* program_context(Body& body) override;
  llvm::Value* runtime_argument(Body& body) override;
  bool has_registers(const Body& body) const override;

  llvm::Function* keep_stack_ = nullptr;  // i1(Context*, void* program_context), a body (ebpf/loadable.h)
};

}  // namespace spile::codegen
