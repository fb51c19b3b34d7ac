#pragma once
// The two places of native code: traced processes and spile itself.

#include "codegen/module/place.h"

namespace spile::codegen {

class NativePlace : public Place {
 public:
  llvm::Value* machine_register(Body& body, int64_t number) override;
  llvm::Value* all_registers(Body& body) override;
  llvm::Value* cfa(Body& body) override;
  llvm::Value* load_bias(Body& body) override;
  llvm::Value* call_number(Body& body) override;
  llvm::Value* context_address(Body&, int64_t) override { return nullptr; }

  bool globals_are_memory() const override { return true; }
  bool has_text_keys() const override { return true; }
  bool remembers_matches() const override { return true; }
  bool has_preserve_most() const override { return true; }
  bool formats_histograms() const override { return true; }
  bool copies_memory() const override { return true; }
  bool runs_embedded_c() const override { return true; }
  bool chooses_registers() const override { return true; }
  bool may_write() const override { return true; }
  bool finds_modules() const override { return true; }
  bool is_user_mode() const override { return true; }
};

// Returns the Handle of a global for handlers that have a slot: in it where the global is sharded, else in the arena's shared
// part.
llvm::Value* global_of_slot(Body& body, const syntax::Global& global);

// Handlers that trampolines call on the probed thread.
class TargetPlace final : public NativePlace {
 public:
  llvm::Value* thread_pointer(Body& body) override;
  llvm::Value* global(Body& body, const syntax::Global& global) override;

  bool has_shards() const override { return true; }
  bool stops_itself() const override { return true; }
  bool runs_at_probe() const override { return true; }
  bool runs_on_thread() const override { return true; }
  bool reads_perf_counters() const override { return true; }
  bool is_trusted() const override { return false; }
  bool is_controller() const override { return false; }
  // A probed instruction may be hit with any stack; the compiler still wants words of 8 bytes aligned.
  unsigned stack_alignment() const override { return 8; }
};

// Handlers of begin, end, timers and events that the engine reports, one at a time. Registers are those of the thread that
// the event is about (abi::Subject).
class ControllerPlace final : public NativePlace {
 public:
  llvm::Value* machine_register(Body& body, int64_t number) override;
  llvm::Value* call_number(Body& body) override;
  llvm::Value* all_registers(Body& body) override;
  llvm::Value* global(Body& body, const syntax::Global& global) override;

  bool has_shards() const override { return false; }
  bool stops_itself() const override { return false; }
  bool runs_at_probe() const override { return false; }
  bool runs_on_thread() const override { return false; }
  bool reads_perf_counters() const override { return false; }
  bool is_trusted() const override { return true; }
  bool is_controller() const override { return true; }
};

}  // namespace spile::codegen
