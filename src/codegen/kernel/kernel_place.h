#pragma once
// Handlers in the kernel whose globals are maps of the kernel.

#include <map>
#include <set>

#include "codegen/kernel/kernel_site.h"

namespace spile::codegen {

class KernelPlace final : public KernelSite {
 public:
  llvm::Value* global(Body& body, const syntax::Global& global) override;
  // Never asked for: chooses_registers() is false.
  llvm::Value* all_registers(Body&) override { return nullptr; }

  // lower_kernel.h, refuse_for_kernel, rejects what the verifier does not follow before the lowering meets it.
  bool globals_are_memory() const override { return false; }
  bool has_shards() const override { return true; }
  bool remembers_matches() const override { return false; }
  bool stops_itself() const override { return true; }
  bool has_preserve_most() const override { return false; }
  bool formats_histograms() const override { return false; }
  bool copies_memory() const override { return false; }
  bool runs_embedded_c() const override { return false; }
  bool runs_at_probe() const override { return true; }
  bool chooses_registers() const override { return false; }
  bool runs_on_thread() const override { return false; }
  bool reads_perf_counters() const override { return false; }
  bool may_write() const override { return false; }
  bool finds_modules() const override { return false; }
  bool is_user_mode() const override { return false; }
  bool is_trusted() const override { return true; }
  bool is_controller() const override { return false; }
  bool repeats_by_calls() const override { return true; }
  llvm::Value* visits(Body& body, const syntax::Global& global, SourceRange range) override;

  // Indexes of globals that handlers have asked for: they need maps.
  const std::set<int>& globals() const { return globals_; }
  // Statements that visit elements: each needs a map of this name, with an element for each of the global's.
  struct Visits {
    std::string symbol;
    const syntax::Global* global;
  };
  const std::map<std::tuple<const SourceFile*, uint32_t, int>, Visits>& all_visits() const { return visits_; }

 private:
  llvm::Value* program_context(Body& body) override;
  llvm::Value* runtime_argument(Body& body) override;
  bool has_registers(const Body& body) const override;

  std::set<int> globals_;
  std::map<std::tuple<const SourceFile*, uint32_t, int>, Visits> visits_;  // by the statement's place
};

// Returns the undefined symbol by which the object refers to a map; the second, the name of that for a global's map.
llvm::GlobalVariable* map_symbol(ScriptModule& module, const std::string& name);
std::string global_symbol(const syntax::Global& global);

}  // namespace spile::codegen
