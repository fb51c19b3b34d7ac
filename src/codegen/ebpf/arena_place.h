#pragma once
// Handlers in the kernel over a BPF arena (abi/kernel.h): globals, strings and records are where handlers of processes have theirs, and only the
// probed place is the kernel's. The lowering's bodies get the argument of the eBPF program as SiteValues::program_context.

#include "codegen/place.h"
#include "codegen/unit.h"

namespace spile::codegen {

class ArenaKernelPlace final : public Place {
 public:
  // Of the bodies that are lowered next: their programs run at a function's return, where only the returned value is known.
  void set_at_return(bool at_return) { at_return_ = at_return; }

  // point: the only one of the probe's points where the handler runs; -1: the attachment's cookie says which.
  void begin_handler(int64_t point = -1) {
    reads_context_ = false;
    point_ = point;
  }
  // Whether the handler reads the program's argument, or its cookie. REQUIRES: it is lowered.
  bool reads_context() const { return reads_context_; }

  llvm::Value* global(Body& body, const syntax::Global& global) override;
  llvm::Value* machine_register(Body& body, int64_t number) override;
  llvm::Value* all_registers(Body& body) override;
  llvm::Value* cfa(Body& body) override;
  llvm::Value* load_bias(Body& body) override;
  llvm::Value* context_address(Body& body, int64_t offset) override;
  llvm::Value* site_text(Body& body, const std::string& what) override;

  bool globals_are_memory() const override { return true; }
  bool has_shards() const override { return true; }
  bool has_try() const override { return true; }
  bool stops_itself() const override { return true; }
  bool has_preserve_most() const override { return false; }
  bool formats_histograms() const override { return true; }
  bool copies_memory() const override { return true; }
  bool runs_embedded_c() const override { return false; }
  bool runs_at_probe() const override { return true; }
  bool chooses_registers() const override { return true; }
  bool runs_on_thread() const override { return false; }
  bool reads_perf_counters() const override { return false; }
  bool may_write() const override { return false; }
  bool finds_modules() const override { return false; }
  bool is_user_mode() const override { return false; }
  bool is_trusted() const override { return true; }
  bool is_controller() const override { return false; }

 private:
  llvm::Value* cookie_of(Body& body);

  bool at_return_ = false;
  bool reads_context_ = false;
  int64_t point_ = -1;
};

}  // namespace spile::codegen
